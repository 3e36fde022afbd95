"""Running Helm without a trace outside the cluster's work directory."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from time import monotonic

from stowage_testbed.cluster.base import Cluster
from stowage_testbed.toolchain import tool_path

OVERTIME_S = 30.0
"""What Helm may take beyond its own time-out before it is killed."""

_LOOK_EVERY_S = 2.0


def helm_folder(cluster: Cluster) -> Path:
    """Return the folder of Helm's own files for a cluster."""
    return cluster.workdir / "helm"


def run_helm(
    cluster: Cluster,
    arguments: list[str],
    timeout_s: float,
    *,
    hopeless: Callable[[], bool] = lambda: False,
) -> subprocess.CompletedProcess[str]:
    """Run Helm against a cluster; the caller looks at its exit code.

    ``hopeless`` is asked now and then; Helm is ended once it is true.

    Raises
    ------
    ToolMissingError
        Helm is not installed.
    TimeoutExpired
        Helm did not keep its own time-out.
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
    command = [str(tool_path("helm")), *arguments]
    ends = monotonic() + timeout_s + OVERTIME_S
    with subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as helm:
        try:
            while True:
                try:
                    output, errors = helm.communicate(timeout=_LOOK_EVERY_S)
                except subprocess.TimeoutExpired:
                    if monotonic() > ends:
                        raise
                    if hopeless():
                        helm.terminate()
                else:
                    return subprocess.CompletedProcess(
                        command, helm.returncode, output, errors
                    )
        except BaseException:
            helm.kill()
            raise
