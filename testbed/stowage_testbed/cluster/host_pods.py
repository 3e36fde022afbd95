"""The daemon that runs a release's pods, started beside the control plane."""

from __future__ import annotations

import sys
from pathlib import Path

from stowage_testbed.cluster.components import HOST_PODS, spawn_component

HOST_NODE = "stowage-host"
HOST_TAINT = "stowage.dev/host"
"""Keeps the workload off the node that the release runs on."""


def start_host_pods(
    workdir: Path, kubeconfig: Path, longest_backoff_s: float | None = None
) -> None:
    """Start the daemon, which is not waited for.

    A container that ended is started again after ``longest_backoff_s`` at most; after
    the daemon's own default without.
    """
    command = [
        sys.executable,
        "-m",
        "stowage_testbed.hostpods",
        "--kubeconfig",
        str(kubeconfig),
    ]
    command += ["--workdir", str(workdir), "--node", HOST_NODE]
    if longest_backoff_s is not None:
        command += ["--backoff-maximum-s", str(longest_backoff_s)]
    spawn_component(workdir, HOST_PODS, command)
