"""Logs of a release's containers, wherever they run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from stowage_testbed.cluster.protocol import Cluster

TAIL_BYTES = 16_384


class Log(Protocol):
    """What one container says."""

    def text(self) -> str:
        """Return it as it is now; empty if nothing is available."""
        ...


@dataclass(frozen=True, slots=True)
class FileLog:
    """The log of a container that is a process of this machine."""

    file: Path

    def text(self) -> str:
        """Return the whole file."""
        if not self.file.is_file():
            return ""
        return self.file.read_text(encoding="utf-8", errors="replace")

    def __str__(self) -> str:
        """Return where it is."""
        return str(self.file)


@dataclass(frozen=True, slots=True)
class PodLog:
    """The log of a container on a node, with that of its last life before."""

    cluster: Cluster
    namespace: str
    pod: str
    container: str

    def text(self) -> str:
        """Ask the node for it."""
        return self._read(previous=True) + self._read(previous=False)

    def _read(self, *, previous: bool) -> str:
        from kubernetes.client import ApiException, CoreV1Api  # noqa: PLC0415

        with self.cluster.api_client() as client:
            try:
                said = CoreV1Api(client).read_namespaced_pod_log(
                    self.pod,
                    self.namespace,
                    container=self.container,
                    previous=previous,
                )
            except ApiException:
                return ""  # it has not begun, or there was no life before
        return str(said or "")

    def __str__(self) -> str:
        """Return how a user reads it."""
        return f"kubectl logs --namespace {self.namespace} {self.pod} {self.container}"


def last_lines(log: Log, count: int) -> list[str]:
    """Return the last lines of a log, without the flags that klog lists."""
    lines = log.text()[-TAIL_BYTES:].splitlines()
    return [line for line in lines if "] FLAG: " not in line][-count:]
