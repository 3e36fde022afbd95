"""One installed release and its values, where its traces are (pods, processes, logs), and Helm, which leaves none."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from kubernetes.client import ApiException, CoreV1Api

from stowage_testbed.api.manifests import render_manifests
from stowage_testbed.base.child import run_child
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.components import HOST_TAINT
from stowage_testbed.cluster.ports import port_beside
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


Values = dict[str, object]


def testbed_values(cluster: Cluster, *, profile: str, optimizer_enabled: bool) -> Values:
    """Return the values that the testbed needs; a `StowageError` if a program that the release runs is missing."""
    where = cluster.release_location
    optimizer = Path(sys.executable).with_name("stowage-optimizer")
    if not where.containers and not optimizer.is_file():
        raise StowageError(
            f"{optimizer} does not exist; install the project into this environment, as `make setup` does"
        )
    values: Values
    (values,) = render_manifests(
        "stowage_testbed.helm",
        "testbed-values.yaml.j2",
        profile=profile,
        optimizer_enabled=optimizer_enabled,
        where=where,
        taint=HOST_TAINT,
        server=where.api_server_url or api_server_url(cluster.kubeconfig),
        scheduler="" if where.containers else str(_program_of(cluster, "stowage-scheduler")),
        optimizer=str(optimizer),
        port=0 if where.containers else port_beside(cluster.name),
        workdir=str(cluster.workdir),
    )
    return values


def _program_of(cluster: Cluster, name: str) -> Path:
    """Give a cluster a program for as long as it lives, whatever is built meanwhile."""
    installed = cluster.tool_path(name)
    copy = cluster.workdir / "programs" / installed.parent.name / name
    if not copy.is_file():
        copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            copy.hardlink_to(installed)
        except OSError:  # another disk
            shutil.copy2(installed, copy)
    return copy


def merge_values(base: Mapping[str, object], over: Mapping[str, object]) -> Values:
    """Return ``base`` with the entries of ``over``, maps merged as Helm merges them."""
    merged = {**base, **over}
    for key, former in base.items():
        value = over.get(key)
        if isinstance(former, Mapping) and isinstance(value, Mapping):
            merged[key] = merge_values(former, value)
    return merged


def api_server_url(kubeconfig: Path) -> str:
    """Return the API server's address from the kubeconfig's only cluster."""
    content = yaml.safe_load(kubeconfig.read_text("utf-8"))
    return str(content["clusters"][0]["cluster"]["server"])


def values_refused(values_file: Path, issues: str) -> StowageError:
    """Return the error that the values do not fit the chart."""
    return StowageError(
        f"the chart refuses the values in {values_file}:\n{issues.strip()}\n"
        "charts/stowage/values.yaml explains every value, and "
        "charts/stowage/values.schema.json has their types and limits"
    )
