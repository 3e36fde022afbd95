"""A pod's status: the states of its containers, as the API writes them, and what follows from them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from stowage_testbed.hostpods.node import Manifest, timestamp

POD_IP = "127.0.0.1"
"""Host pods share the host's loopback interface and listen nowhere else."""


def waiting(reason: str, message: str = "") -> Manifest:
    """Return the state of a container that is not started yet, or not again yet."""
    return {"waiting": {"reason": reason, "message": message}}


def running(since: datetime) -> Manifest:
    """Return the state of a container that runs."""
    return {"running": {"startedAt": timestamp(since)}}


def terminated(code: int, since: datetime, until: datetime, message: str = "") -> Manifest:
    """Return the state of a container that has ended."""
    ended = {"exitCode": code, "reason": "Error" if code else "Completed", "message": message}
    return {"terminated": {**ended, "startedAt": timestamp(since), "finishedAt": timestamp(until)}}


@dataclass(slots=True)
class ContainerRecord:
    """A container's line in the pod's status; ``probe_failure`` is of the last failed startup or readiness probe."""

    name: str
    image: str
    state: Manifest
    last: Manifest = field(default_factory=dict)
    restarts: int = 0
    started: bool = False
    ready: bool = False
    probe_failure: str = ""

    def manifest(self) -> Manifest:
        """Return the container's status as the API writes it."""
        return {
            "name": self.name,
            "image": self.image,
            "imageID": "",
            "state": self.state,
            "lastState": self.last,
            "restartCount": self.restarts,
            "started": self.started,
            "ready": self.ready,
        }


def first_record(container: Manifest, former: Manifest | None) -> ContainerRecord:
    """Return a container's first record; what ran in its ``former`` status ended with the daemon, and was restarted."""
    record = ContainerRecord(container["name"], container.get("image", ""), waiting("ContainerCreating"))
    if former is not None:
        ran = "waiting" not in former.get("state", {"waiting": {}})
        record.restarts = former.get("restartCount", 0) + int(ran)
    return record


@dataclass(slots=True)
class PodStatus:
    """What a pod's status follows from; remembers when each condition last changed."""

    started: datetime
    containers: Sequence[ContainerRecord]
    volumes_ready: bool = False
    finished: bool = False
    _since: dict[str, tuple[str, str]] = field(default_factory=dict)

    def phase(self) -> str:
        """Return the pod's phase, as a kubelet computes it."""
        if self.finished:
            succeeded = all(one.state.get("terminated", {}).get("exitCode") == 0 for one in self.containers)
            return "Succeeded" if succeeded else "Failed"
        began = all(one.last or "waiting" not in one.state for one in self.containers)
        return "Running" if began else "Pending"

    def manifest(self, pod: Manifest, now: datetime) -> Manifest:
        """Return the status as the API writes it."""
        unready = [record for record in self.containers if not record.ready]
        ready = not unready and not self.finished
        why = f"containers with unready status: {[record.name for record in unready]}" if unready else ""
        why += "".join(f"; {record.name}: {record.probe_failure}" for record in unready if record.probe_failure)
        return {
            "observedGeneration": pod["metadata"].get("generation", 0),
            "phase": self.phase(),
            "startTime": timestamp(self.started),
            "hostIP": POD_IP,
            "hostIPs": [{"ip": POD_IP}],
            "podIP": POD_IP,
            "podIPs": [{"ip": POD_IP}],
            "conditions": [
                self._condition("PodReadyToStartContainers", self.volumes_ready, now),
                self._condition("Initialized", self.volumes_ready, now),
                self._condition("Ready", ready, now, why),
                self._condition("ContainersReady", ready, now, why),
                self._condition("PodScheduled", True, now),
            ],
            "containerStatuses": [record.manifest() for record in self.containers],
        }

    def _condition(self, kind: str, holds: bool, now: datetime, why_not: str = "") -> Manifest:
        status = "True" if holds else "False"
        if self._since.get(kind, ("", ""))[0] != status:
            self._since[kind] = (status, timestamp(now))
        return {
            "type": kind,
            "status": status,
            "lastTransitionTime": self._since[kind][1],
            "reason": None if holds or not why_not else "ContainersNotReady",
            "message": None if holds else why_not,
        }
