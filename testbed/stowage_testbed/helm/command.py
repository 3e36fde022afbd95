"""Running Helm without a trace outside the cluster's work directory."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from stowage_testbed.base.child import run_child
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.toolchain import tool_path

OVERTIME_S = 30.0
"""What Helm may take beyond its own time-out before it is killed."""


def helm_folder(cluster: Cluster) -> Path:
    """Return the folder of Helm's own files for a cluster."""
    return cluster.workdir / "helm"


def run_helm(cluster: Cluster, arguments: list[str], timeout_s: float) -> subprocess.CompletedProcess[str]:
    """Run Helm against a cluster; the caller looks at its exit code.

    Raises `ToolMissingError` if Helm is not installed, `TimeoutExpired` if it did not keep its own time-out.
    """
    folder = helm_folder(cluster)
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HELM_CACHE_HOME": str(folder / "cache"),
        "HELM_CONFIG_HOME": str(folder / "config"),
        "HELM_DATA_HOME": str(folder / "data"),
        "HELM_NO_PLUGINS": "1",
        "HOME": str(folder),
        "KUBECONFIG": str(cluster.kubeconfig),
    }
    return run_child([str(tool_path("helm")), *arguments], timeout_s + OVERTIME_S, environment)
