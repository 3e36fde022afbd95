"""Recording a live cluster into a file, until the time is over or somebody ends it."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import msgspec

from stowage_testbed.api.client import ask
from stowage_testbed.observe.watches import SILENCE_S, Watches
from stowage_testbed.trace.format import VERSION, Header, Line, PodCame, WatchLost, check_is_trace
from stowage_testbed.trace.recording import NAMESPACE, NODE, POD, Recording

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

MS = 3  # Digits behind the point of a time


@dataclass(slots=True)
class Recorded:
    """What a file holds so far."""

    lines: int = 0
    pods: int = 0
    losses: int = 0
    seconds: float = 0.0


class TraceWriter:
    """Writes a trace, compressed if its name ends in ``.gz``, whole at the end of its context, or raises."""

    def __init__(self, path: Path, header: Header) -> None:
        check_is_trace(path.name)
        self._encoder = msgspec.json.Encoder()
        self._raw = path.open("wb")
        packed = path.suffix == ".gz"
        # Neither the time nor the name, so that equal traces are equal files.
        self._file = gzip.GzipFile("", "wb", fileobj=self._raw, mtime=0) if packed else self._raw
        self._latest = 0.0
        self.recorded = Recorded()
        self._put(header)

    def write(self, line: Line) -> None:
        """Write one line; times are in milliseconds, and none goes back."""
        self._latest = max(self._latest, round(line.t, MS))
        if line.t != self._latest:
            line = msgspec.structs.replace(line, t=self._latest)
        self._put(line)
        self.recorded.lines += 1
        self.recorded.pods += isinstance(line, PodCame)
        self.recorded.losses += isinstance(line, WatchLost)

    def flush(self) -> None:
        """Have all that was written lie in the file, readable."""
        self._file.flush()
        self._raw.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._raw.close()

    def _put(self, line: Header | Line) -> None:
        self._file.write(self._encoder.encode(line) + b"\n")


RECORDED: Mapping[str, str] = {
    NAMESPACE: "",
    NODE: "",
    "PriorityClass": "scheduling.k8s.io",
    "RuntimeClass": "node.k8s.io",
    "StorageClass": "storage.k8s.io",
    "DeviceClass": "resource.k8s.io",
    "ResourceSlice": "resource.k8s.io",
    "DeviceTaintRule": "resource.k8s.io",
    "PersistentVolume": "",
    "LimitRange": "",
    "ResourceQuota": "",
    "Service": "",
    "PersistentVolumeClaim": "",
    "ResourceClaimTemplate": "resource.k8s.io",
    "ResourceClaim": "resource.k8s.io",
    "PodDisruptionBudget": "policy",
    "Workload": "scheduling.k8s.io",
    "PodGroup": "scheduling.k8s.io",
    "Deployment": "apps",
    "ReplicaSet": "apps",
    "StatefulSet": "apps",
    "DaemonSet": "apps",
    "Job": "batch",
    POD: "",
}
"""The kinds with their groups, in an order in which they can be made."""

TICK_S = 0.25
FLUSH_S = 1.0  # Who is killed loses what came since the last one, and what was held back
_OWN_NAME = "kubernetes.io/metadata.name"


def record(
    api: ApiClient,
    path: Path,
    *,
    stop: threading.Event,
    for_s: float | None = None,
    namespaces: Collection[str] = (),
    began: Callable[[Recorded], object] = bool,
    remark: Callable[[str], object] = bool,
) -> Recorded:
    """Record a cluster into a trace until ``stop`` is set, or ``for_s`` seconds are over.

    Only what is in ``namespaces``, if any, and in none. ``began`` is called when all that is there is recorded,
    ``remark`` with each kind that cannot be. Raises a StowageError if the server does not answer, or refuses what is
    needed.
    """
    watches = Watches(api, patience_s=float("inf"), silence_s=SILENCE_S)
    listed = watches.list_kinds(RECORDED, remark)
    start = watches.clock.now()
    version = str(ask(api, "GET", "/version", "tell its version").get("gitVersion", "")).removeprefix("v")
    labels = {
        one.name: {key: value for key, value in (one.body["metadata"].get("labels") or {}).items() if key != _OWN_NAME}
        for one in listed
        if one.kind == NAMESPACE and (not namespaces or one.name in namespaces)
    }
    header = Header(VERSION, start.wall_text(), version, labels)
    watches.follow()
    try:
        with TraceWriter(path, header) as writer:
            recorded, recording = writer.recorded, Recording(start, watches.kinds, writer.write, namespaces)
            recording.begin(listed)
            began(recorded)
            flushed = watches.clock.now()
            while not stop.is_set():
                for arrival in watches.take_all(TICK_S):
                    recording.take(arrival)
                now = watches.clock.now()
                recorded.seconds = now.seconds_since(start)
                if for_s is not None and recorded.seconds >= for_s:
                    break
                recording.release(now)
                if now.seconds_since(flushed) >= FLUSH_S:
                    writer.flush()
                    flushed = now
                # What was seen is in lines already.
                watches.roll()
            recording.finish()
    finally:
        watches.stop()
    return recorded
