"""Where the pods of a Helm release run, and the daemon that runs them on a host."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from stowage_testbed.cluster.components import HOST_PODS, spawn_component

HOST_NODE = "stowage-host"
HOST_TAINT = "stowage.dev/host"
"""Keeps the workload off the node that the release runs on."""


@dataclass(frozen=True, slots=True)
class ReleaseLocation:
    """The one node of a cluster that is no fake one; it has the taint `HOST_TAINT`."""

    node: str = HOST_NODE
    containers: bool = False
    """Whether pods run there as containers of their images; if not, as processes of this machine."""
    api_server_url: str = ""
    """The API server's address from there; empty where it is the kubeconfig's."""


ON_THIS_MACHINE = ReleaseLocation()


def start_host_pods(workdir: Path, kubeconfig: Path, longest_backoff_s: float | None = None) -> None:
    """Start the daemon, which registers its node by itself.

    A container that ended is started again after ``longest_backoff_s`` at most; after the daemon's own default without.
    """
    command = [sys.executable, "-m", "stowage_testbed.hostpods", "--node", HOST_NODE]
    command += ["--kubeconfig", str(kubeconfig), "--workdir", str(workdir)]
    if longest_backoff_s is not None:
        command += ["--backoff-maximum-s", str(longest_backoff_s)]
    spawn_component(workdir, HOST_PODS, command)
