"""Faults of the API server: killed, slow."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from benchmarks.faults import slow_api
from benchmarks.faults.context import FaultContext
from benchmarks.faults.processes import kill_scheduler, no_process
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.cluster import KwokBinaryCluster
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.components import (
    API_SERVER,
    CONTROLLER_MANAGER,
    KWOK,
    component_process,
    spawn_component,
)
from stowage_testbed.cluster.ports import listens, port_beside
from stowage_testbed.cluster.processes import kill_one
from stowage_testbed.cluster.supervision import expect_ends
from stowage_testbed.helm.values import api_server_url


def restart(context: FaultContext) -> None:
    """Kill the API server; all reads and writes fail until the fault ends."""
    cluster = _local(context)
    process = component_process(cluster.workdir, API_SERVER)
    if process is None:
        raise no_process(API_SERVER)
    context.on_end(cluster.start_again)
    # Its clients may give up meanwhile.
    expect_ends(cluster, API_SERVER, CONTROLLER_MANAGER, KWOK)
    kill_one(process)
    # Killed is not yet ended, and what has not ended is not started again.
    process.wait()


def forget(context: FaultContext) -> None:
    """Start every client of the API server anew.

    They wait for up to a minute after a few failures, and forget them only after two
    healthy minutes, which nobody has whose API server is killed every minute.
    """
    cluster = _local(context)
    expect_ends(cluster, CONTROLLER_MANAGER, KWOK)
    for component in (CONTROLLER_MANAGER, KWOK):
        process = component_process(cluster.workdir, component)
        if process is not None:
            kill_one(process)
            process.wait()
    cluster.start_again()
    kill_scheduler(context)
    context.end_fault()


def _local(context: FaultContext) -> KwokBinaryCluster:
    cluster = context.run.cluster
    assert isinstance(cluster, KwokBinaryCluster)  # noqa: S101 - others have no processes
    return cluster


COMPONENT = "slow-api"
DELAY_S = "1"


def control_file(cluster: Cluster) -> Path:
    """Return the file that says for how long each call waits."""
    return cluster.workdir / COMPONENT


def slow_values(cluster: Cluster) -> dict[str, Any]:
    """Return the values of a release whose scheduler calls the API server by the proxy.

    The proxy is started if it does not run; it ends with the cluster.
    """
    return {"apiServer": {"url": f"https://127.0.0.1:{_proxy_port(cluster)}"}}


def slow_down(context: FaultContext) -> None:
    """Let every call of the scheduler wait for a second until the fault ends."""
    context.write_until_end(control_file(context.run.cluster), DELAY_S, "0")


def _proxy_port(cluster: Cluster) -> int:
    port_file = cluster.workdir / f"{COMPONENT}.port"
    if component_process(cluster.workdir, COMPONENT) is None:
        port = port_beside(COMPONENT + cluster.name)
        port_file.write_text(str(port), encoding="utf-8")
        _start_proxy(cluster, port)
    return int(port_file.read_text("utf-8"))


def _start_proxy(cluster: Cluster, port: int) -> None:
    command = [sys.executable, "-P", slow_api.__file__]
    command += [f"--port={port}", "--upstream", api_server_url(cluster.kubeconfig)]
    command += ["--pki", str(cluster.workdir / "pki")]
    command += ["--control", str(control_file(cluster))]
    spawn_component(cluster.workdir, COMPONENT, command)
    wait_until(
        "the proxy of the API server to listen",
        lambda: listens(port),
        bool,
        timeout_s=HANG_S,
    )
