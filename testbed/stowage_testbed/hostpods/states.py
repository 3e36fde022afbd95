"""The three states of a container, and what its status remembers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from stowage_testbed.hostpods.clock import timestamp
from stowage_testbed.hostpods.manifest import Manifest


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


def _manifest(state: State) -> Manifest:
    """Return a state as the API writes it."""
    match state:
        case Waiting(reason, message):
            return {"waiting": {"reason": reason, "message": message}}
        case Running(since):
            return {"running": {"startedAt": timestamp(since)}}
        case Terminated(code, since, until, message):
            ended = {
                "exitCode": code,
                "reason": "Completed" if code == 0 else "Error",
                "startedAt": timestamp(since),
                "finishedAt": timestamp(until),
                "message": message,
            }
            return {"terminated": ended}


@dataclass(slots=True)
class ContainerRecord:
    """One container's line in the pod's status.

    ``probe_failure`` is the message of the last failed startup or readiness probe.
    """

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
            "state": _manifest(self.state),
            "lastState": _manifest(self.last) if self.last else {},
            "restartCount": self.restarts,
            "started": self.started,
            "ready": self.ready,
        }


def first_record(container: Manifest, former: Manifest | None) -> ContainerRecord:
    """Return a container's first record.

    ``former`` is its status from before the daemon was started, if it had one: what ran
    then ended together with the daemon and counts as a restart.
    """
    waiting = Waiting("ContainerCreating")
    record = ContainerRecord(container["name"], container.get("image", ""), waiting)
    if former is not None:
        ran = "waiting" not in former.get("state", {"waiting": {}})
        record.restarts = former.get("restartCount", 0) + int(ran)
    return record
