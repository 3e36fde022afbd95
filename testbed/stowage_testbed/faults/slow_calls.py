"""The fault of an API server that takes a second for every call of the scheduler."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

from stowage_testbed.cluster.components import component_process, spawn_component
from stowage_testbed.cluster.ports import listens, port_beside
from stowage_testbed.cluster.protocol import Cluster
from stowage_testbed.faults.context import FaultContext
from stowage_testbed.helm.values import api_server_url
from stowage_testbed.wait import wait_until

COMPONENT = "slow-api"
DELAY_S = 1.0
START_TIMEOUT_S = 30.0


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
    file = control_file(context.run.cluster)
    context.on_end(partial(_write, file, 0.0))
    _write(file, DELAY_S)


def _proxy_port(cluster: Cluster) -> int:
    port_file = cluster.workdir / f"{COMPONENT}.port"
    if component_process(cluster.workdir, COMPONENT) is None:
        port = port_beside(COMPONENT + cluster.name)
        port_file.write_text(str(port), encoding="utf-8")
        _start_proxy(cluster, port)
    return int(port_file.read_text("utf-8"))


def _start_proxy(cluster: Cluster, port: int) -> None:
    command = [
        sys.executable,
        "-m",
        "stowage_testbed.faults.slow_api",
        f"--port={port}",
    ]
    command += ["--upstream", api_server_url(cluster.kubeconfig)]
    command += ["--pki", str(cluster.workdir / "pki")]
    command += ["--control", str(control_file(cluster))]
    spawn_component(cluster.workdir, COMPONENT, command)
    wait_until(
        "the proxy of the API server to listen",
        lambda: listens(port),
        bool,
        timeout_s=START_TIMEOUT_S,
    )


def _write(file: Path, delay_s: float) -> None:
    file.write_text(str(delay_s), encoding="utf-8")
