"""The pod's status, composed from its containers' records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from stowage_testbed.hostpods.clock import timestamp
from stowage_testbed.hostpods.manifest import POD_IP, Manifest
from stowage_testbed.hostpods.states import ContainerRecord, Running, Terminated


@dataclass(frozen=True, slots=True)
class PodState:
    """All that a status is made of, at one moment."""

    volumes_ready: bool
    containers: Sequence[ContainerRecord]
    finished: bool


def phase(state: PodState) -> str:
    """Return the phase that follows from the state."""
    if state.finished:
        succeeded = all(isinstance(record.state, Terminated) and record.state.code == 0 for record in state.containers)
        return "Succeeded" if succeeded else "Failed"
    began = [record.last is not None or isinstance(record.state, Running | Terminated) for record in state.containers]
    return "Running" if all(began) else "Pending"


@dataclass(slots=True)
class StatusComposer:
    """Composes statuses, and remembers when each condition last changed."""

    started: datetime
    _since: dict[str, tuple[str, str]] = field(default_factory=dict)

    def compose(self, pod: Manifest, state: PodState, now: datetime) -> Manifest:
        """Return the status as the API writes it."""
        return {
            "observedGeneration": pod["metadata"].get("generation", 0),
            "phase": phase(state),
            "startTime": timestamp(self.started),
            "hostIP": POD_IP,
            "hostIPs": [{"ip": POD_IP}],
            "podIP": POD_IP,
            "podIPs": [{"ip": POD_IP}],
            "conditions": self._conditions(state, now),
            "containerStatuses": [record.manifest() for record in state.containers],
        }

    def _conditions(self, state: PodState, now: datetime) -> list[Manifest]:
        lacking = [record for record in state.containers if not record.ready]
        unready = [record.name for record in lacking]
        ready = not unready and not state.finished
        words = [f"; {r.name}: {r.probe_failure}" for r in lacking if r.probe_failure]
        why = f"containers with unready status: {unready}" if unready else ""
        why += "".join(words)
        return [
            self._condition("PodReadyToStartContainers", state.volumes_ready, now),
            self._condition("Initialized", state.volumes_ready, now),
            self._condition("Ready", ready, now, why),
            self._condition("ContainersReady", ready, now, why),
            self._condition("PodScheduled", True, now),
        ]

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
