"""One installed release, where its traces are (pods, processes, logs), and Helm, which leaves none elsewhere."""

import os
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubernetes.client import ApiException, CoreV1Api

from stowage_testbed.base.child import run_child
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.hostpods.node import SHORT_UID
from stowage_testbed.toolchain import tool_path

TAIL_BYTES = 16_384
OVERTIME_S = 30.0
"""What Helm may take beyond its own time-out before it is killed."""


@dataclass(frozen=True, slots=True)
class Log:
    """The log of a container: where a user finds it, and what reads it as it is now, empty if there is nothing."""

    where: str
    text: Callable[[], str]


def file_log(file: Path) -> Log:
    """Return the log of a container that is a process of this machine."""
    return Log(str(file), lambda: file.read_text(encoding="utf-8", errors="replace") if file.is_file() else "")


def pod_log(cluster: Cluster, namespace: str, pod: str, container: str) -> Log:
    """Return the log of a container on a node, with that of its last life before."""

    def ask_node() -> str:
        texts = []
        with cluster.api_client() as client:
            for previous in (True, False):
                # It may not have begun, or there was no life before.
                with suppress(ApiException):
                    said = CoreV1Api(client).read_namespaced_pod_log(
                        pod, namespace, container=container, previous=previous
                    )
                    texts.append(str(said or ""))
        return "".join(texts)

    return Log(f"kubectl logs --namespace {namespace} {pod} {container}", ask_node)


def last_lines(log: Log, count: int) -> list[str]:
    """Return the last lines of a log, without the flags that klog lists."""
    lines = log.text()[-TAIL_BYTES:].splitlines()
    return [line for line in lines if "] FLAG: " not in line][-count:]


@dataclass(frozen=True, slots=True)
class Release:
    """A release of the chart on a cluster."""

    cluster: Cluster
    name: str
    namespace: str

    def pods(self) -> list[Any]:
        """Return the release's pods, the newest first."""
        mine = f"app.kubernetes.io/instance={self.name}"
        with self.cluster.api_client() as client:
            found: list[Any] = CoreV1Api(client).list_namespaced_pod(self.namespace, label_selector=mine).items
        return sorted(found, key=lambda pod: pod.metadata.creation_timestamp, reverse=True)

    def pod_folder(self) -> Path | None:
        """Return the newest pod's folder, if there is a pod."""
        uids = [str(pod.metadata.uid) for pod in self.pods()[:1]]
        return self.cluster.workdir / "hostpods" / uids[0][:SHORT_UID] if uids else None

    def log_files(self) -> dict[str, Path]:
        """Return the newest pod's log files by container name."""
        folder = self.pod_folder()
        return {file.stem: file for file in folder.glob("*.log")} if folder else {}

    def logs(self) -> dict[str, Log]:
        """Return the newest pod's logs by container name."""
        if not self.cluster.release_location.containers:
            return {name: file_log(file) for name, file in self.log_files().items()}
        return {
            container.name: pod_log(self.cluster, self.namespace, pod.metadata.name, container.name)
            for pod in self.pods()[:1]
            for container in pod.spec.containers
        }

    def process_ids(self) -> dict[str, int]:
        """Return the newest pod's main processes by container name; one that waits for its start shows its former."""
        folder = self.pod_folder()
        files = folder.glob("*.pid") if folder else ()
        return {file.stem: int(file.read_text("ascii")) for file in files}


def helm_folder(cluster: Cluster) -> Path:
    """Return the folder of Helm's own files for a cluster."""
    return cluster.workdir / "helm"


def run_helm(cluster: Cluster, arguments: list[str], timeout_s: float) -> subprocess.CompletedProcess[str]:
    """Run Helm against a cluster; raises `TimeoutExpired` if it did not keep its own time-out."""
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
