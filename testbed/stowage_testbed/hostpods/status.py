"""A pod's status: the states of its containers, and what follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from stowage_testbed.hostpods.node import Manifest, timestamp

POD_IP = "127.0.0.1"
"""Host pods share the host's loopback interface and listen nowhere else."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Not started yet, or not again yet."""

    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Running:
    """Started and not ended."""

    since: datetime


@dataclass(frozen=True, slots=True)
class Terminated:
    """Ended."""

    code: int
    since: datetime
    until: datetime
    message: str = ""


State = Waiting | Running | Terminated


def _write(state: State) -> Manifest:
    """Return a state as the API writes it."""
    match state:
        case Waiting(reason, message):
            return {"waiting": {"reason": reason, "message": message}}
        case Running(since):
            return {"running": {"startedAt": timestamp(since)}}
        case Terminated(code, since, until, message):
            ended = {"exitCode": code, "reason": "Error" if code else "Completed", "message": message}
            return {"terminated": {**ended, "startedAt": timestamp(since), "finishedAt": timestamp(until)}}


@dataclass(slots=True)
class ContainerRecord:
    """A container's line in the pod's status; ``probe_failure`` is of the last failed startup or readiness probe."""

    name: str
    image: str
    state: State
    last: Terminated | None = None
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
            "state": _write(self.state),
            "lastState": _write(self.last) if self.last else {},
            "restartCount": self.restarts,
            "started": self.started,
            "ready": self.ready,
        }


def first_record(container: Manifest, former: Manifest | None) -> ContainerRecord:
    """Return a container's first record; what ran in its ``former`` status ended with the daemon, and was restarted."""
    record = ContainerRecord(container["name"], container.get("image", ""), Waiting("ContainerCreating"))
    if former is not None:
        ran = "waiting" not in former.get("state", {"waiting": {}})
        record.restarts = former.get("restartCount", 0) + int(ran)
    return record


@dataclass(frozen=True, slots=True)
class PodState:
    """All that a status is made of, at one moment."""

    volumes_ready: bool
    containers: Sequence[ContainerRecord]
    finished: bool

    @property
    def phase(self) -> str:
        """The pod's phase, as a kubelet computes it."""
        states = [record.state for record in self.containers]
        if self.finished:
            succeeded = all(isinstance(state, Terminated) and state.code == 0 for state in states)
            return "Succeeded" if succeeded else "Failed"
        began = all(one.last or not isinstance(one.state, Waiting) for one in self.containers)
        return "Running" if began else "Pending"


@dataclass(slots=True)
class StatusComposer:
    """Composes statuses, and remembers when each condition last changed."""

    started: datetime
    _since: dict[str, tuple[str, str]] = field(default_factory=dict)

    def compose(self, pod: Manifest, state: PodState, now: datetime) -> Manifest:
        """Return the status as the API writes it."""
        unready = [record for record in state.containers if not record.ready]
        ready = not unready and not state.finished
        why = f"containers with unready status: {[record.name for record in unready]}" if unready else ""
        why += "".join(f"; {record.name}: {record.probe_failure}" for record in unready if record.probe_failure)
        return {
            "observedGeneration": pod["metadata"].get("generation", 0),
            "phase": state.phase,
            "startTime": timestamp(self.started),
            "hostIP": POD_IP,
            "hostIPs": [{"ip": POD_IP}],
            "podIP": POD_IP,
            "podIPs": [{"ip": POD_IP}],
            "conditions": [
                self._condition("PodReadyToStartContainers", state.volumes_ready, now),
                self._condition("Initialized", state.volumes_ready, now),
                self._condition("Ready", ready, now, why),
                self._condition("ContainersReady", ready, now, why),
                self._condition("PodScheduled", True, now),
            ],
            "containerStatuses": [record.manifest() for record in state.containers],
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
