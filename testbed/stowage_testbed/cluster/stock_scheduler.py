"""The stock scheduler of a cluster that is brought up by hand."""

from __future__ import annotations

from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import WaitTimeoutError, wait_until
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.components import (
    SCHEDULER,
    component_failed,
    has_ended,
    log_file,
    spawn_component,
    was_started,
)
from stowage_testbed.cluster.ports import LOOPBACK, listens, port_beside

_TIMEOUT_S = 60.0


def start_stock_scheduler(cluster: Cluster) -> None:
    """Start kube-scheduler, in Stowage's build with every setting at its default, and wait until it serves."""
    port = port_beside(cluster.name)
    flags = {
        "kubeconfig": cluster.kubeconfig,
        "authentication-kubeconfig": cluster.kubeconfig,
        "authorization-kubeconfig": cluster.kubeconfig,
        "bind-address": LOOPBACK,
        "secure-port": port,
        # One instance needs no election, which costs seconds at the start.
        "leader-elect": "false",
    }
    spawn_component(cluster.workdir, SCHEDULER, [str(cluster.tool_path("stowage-scheduler"))], flags)

    def serves() -> bool:
        if has_ended(cluster.workdir, SCHEDULER):
            raise component_failed(cluster.workdir, SCHEDULER)
        return listens(port)

    try:
        wait_until(f"{SCHEDULER} to serve", serves, bool, timeout_s=_TIMEOUT_S)
    except WaitTimeoutError as error:
        log = log_file(cluster.workdir, SCHEDULER)
        raise StowageError(f"{error}; its log is {log}") from error


def check_no_scheduler(cluster: Cluster) -> None:
    """Refuse a cluster with a stock scheduler, which would race for the same pods."""
    if was_started(cluster.workdir, SCHEDULER):
        raise StowageError(
            f"cluster {cluster.name} has the stock scheduler, and two schedulers must "
            "not serve one name; bring it up with: "
            f"stowage up {cluster.name} --scheduler none"
        )
