"""KWOK as a process beside a cluster of kind."""

from __future__ import annotations

from pathlib import Path

from stowage_testbed.cluster.components import KWOK
from stowage_testbed.cluster.kwokctl_config import FAKE_NODES_ONLY, STAGES
from stowage_testbed.cluster.ports import LOOPBACK, Ports
from stowage_testbed.cluster.spawn import spawn_component
from stowage_testbed.toolchain import tool_path

LEASE_S = 200
"""As kwokctl says: a fake node does not die, and each renewal is a request."""


def start_kwok(workdir: Path, kubeconfig: Path, ports: Ports) -> None:
    """Start it; it simulates every node that has its annotation.

    Raises
    ------
    ToolMissingError
        It is not installed.
    """
    arguments = {
        **FAKE_NODES_ONLY,
        "kubeconfig": str(kubeconfig),
        "config": str(STAGES),
        "server-address": f"{LOOPBACK}:{ports.kwok_controller}",
        "node-ip": LOOPBACK,
        "node-name": "kwok-controller",
        "node-port": str(ports.kwok_controller),
        "node-lease-duration-seconds": str(LEASE_S),
    }
    options = [f"--{name}={value}" for name, value in arguments.items()]
    spawn_component(workdir, KWOK, [str(tool_path("kwok")), *options])
