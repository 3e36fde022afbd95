"""One installed release, and where its traces are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubernetes.client import CoreV1Api

from stowage_testbed.cluster.protocol import Cluster
from stowage_testbed.helm.logs import FileLog, Log, PodLog

SHORT_UID = 8


@dataclass(frozen=True, slots=True)
class Release:
    """A release of the chart on a cluster."""

    cluster: Cluster
    name: str
    namespace: str

    @property
    def selector(self) -> str:
        """The label selector of the release's pods."""
        return f"app.kubernetes.io/instance={self.name}"

    def pods(self) -> list[Any]:
        """Return the release's pods, the newest first."""
        with self.cluster.api_client() as client:
            found: list[Any] = (
                CoreV1Api(client)
                .list_namespaced_pod(self.namespace, label_selector=self.selector)
                .items
            )
        # Every pod that was read has metadata; the client's types leave that open.
        return sorted(
            found, key=lambda pod: pod.metadata.creation_timestamp, reverse=True
        )

    def pod_folder(self) -> Path | None:
        """Return the newest pod's folder, if there is a pod."""
        pods = self.pods()
        if not pods:
            return None
        uid = str(pods[0].metadata.uid)
        return self.cluster.workdir / "hostpods" / uid[:SHORT_UID]

    def log_files(self) -> dict[str, Path]:
        """Return the newest pod's log files by container name."""
        folder = self.pod_folder()
        return {file.stem: file for file in folder.glob("*.log")} if folder else {}

    def logs(self) -> dict[str, Log]:
        """Return the newest pod's logs by container name."""
        if not self.cluster.release_location.containers:
            return {name: FileLog(file) for name, file in self.log_files().items()}
        return {
            container.name: PodLog(
                self.cluster, self.namespace, pod.metadata.name, container.name
            )
            for pod in self.pods()[:1]
            for container in pod.spec.containers
        }

    def process_ids(self) -> dict[str, int]:
        """Return the newest pod's main processes by container name.

        A container that waits for its next start shows its former process.
        """
        folder = self.pod_folder()
        files = folder.glob("*.pid") if folder else ()
        return {file.stem: int(file.read_text("ascii")) for file in files}
