"""The pod's status, composed from its containers' records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from stowage_testbed.hostpods.clock import timestamp
from stowage_testbed.hostpods.fields import POD_IP
from stowage_testbed.hostpods.manifest import Manifest
from stowage_testbed.hostpods.states import (
    ContainerRecord,
    Running,
    Terminated,
    Waiting,
)


@dataclass(frozen=True, slots=True)
class PodState:
    """All that a status is made of, at one moment."""

    volumes_ready: bool
    initialized: bool
    init: Sequence[ContainerRecord]
    containers: Sequence[ContainerRecord]
    finished: bool
    message: str = ""


def phase(state: PodState) -> str:
    """Return the phase that follows from the state."""
    if state.finished:
        records = [*state.init, *state.containers]
        failed = any(
            isinstance(record.state, Terminated) and record.state.code != 0
            for record in records
        )
        unfinished = any(isinstance(record.state, Waiting) for record in records)
        return "Failed" if failed or unfinished else "Succeeded"
    began = [
        record.last is not None or isinstance(record.state, Running | Terminated)
        for record in state.containers
    ]
    return "Running" if state.initialized and all(began) else "Pending"


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
            "message": state.message,
            "startTime": timestamp(self.started),
            "hostIP": POD_IP,
            "hostIPs": [{"ip": POD_IP}],
            "podIP": POD_IP,
            "podIPs": [{"ip": POD_IP}],
            "conditions": self._conditions(pod, state, now),
            "initContainerStatuses": [record.manifest() for record in state.init],
            "containerStatuses": [record.manifest() for record in state.containers],
        }

    def _conditions(
        self, pod: Manifest, state: PodState, now: datetime
    ) -> list[Manifest]:
        lacking = [record for record in state.containers if not record.ready]
        unready = [record.name for record in lacking]
        ready = state.initialized and not unready and not state.finished
        words = [f"; {r.name}: {r.probe_failure}" for r in lacking if r.probe_failure]
        why = f"containers with unready status: {unready}" if unready else ""
        why += "".join(words)
        gates = ready and _gates_open(pod)
        return [
            self._condition("PodReadyToStartContainers", state.volumes_ready, now),
            self._condition("Initialized", state.initialized, now),
            self._condition("Ready", gates, now, why or "a readiness gate is closed"),
            self._condition("ContainersReady", ready, now, why),
            self._condition("PodScheduled", True, now),
        ]

    def _condition(
        self, kind: str, holds: bool, now: datetime, why_not: str = ""
    ) -> Manifest:
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


def _gates_open(pod: Manifest) -> bool:
    holding = {
        condition["type"]
        for condition in pod.get("status", {}).get("conditions", ())
        if condition["status"] == "True"
    }
    gates = pod["spec"].get("readinessGates", ())
    return all(gate["conditionType"] in holding for gate in gates)
