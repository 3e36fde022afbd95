"""The status that is written for a pod."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from host_builders import a_container, a_pod

from stowage_testbed.hostpods.manifest import Manifest
from stowage_testbed.hostpods.states import (
    ContainerRecord,
    Running,
    State,
    Terminated,
    Waiting,
)
from stowage_testbed.hostpods.status import PodState, StatusComposer, phase

T0 = datetime(2026, 1, 1, tzinfo=UTC)
RUNNING = Running(T0)
WAITING = Waiting("ContainerCreating")
DONE, FAILED = Terminated(0, T0, T0), Terminated(1, T0, T0)


def a_record(state: State, *, ready: bool = False) -> ContainerRecord:
    return ContainerRecord("main", "none", state, ready=ready)


def a_state(*states: State, ready: bool = False, finished: bool = False) -> PodState:
    records = [a_record(state, ready=ready) for state in states]
    return PodState(volumes_ready=True, containers=records, finished=finished)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (a_state(WAITING), "Pending"),
        (a_state(RUNNING, WAITING), "Pending"),
        (a_state(RUNNING), "Running"),
        (a_state(FAILED), "Running"),  # it is started again
        (a_state(DONE, finished=True), "Succeeded"),
        (a_state(DONE, FAILED, finished=True), "Failed"),
        (a_state(DONE, WAITING, finished=True), "Failed"),
    ],
)
def test_the_phase_follows_the_containers(state: PodState, expected: str) -> None:
    """As a kubelet computes it: controllers act on it."""
    assert phase(state) == expected


def conditions(
    composer: StatusComposer, state: PodState, now: datetime
) -> dict[str, Manifest]:
    status = composer.compose(a_pod(a_container("true")), state, now)
    return {condition["type"]: condition for condition in status["conditions"]}


def test_ready_needs_every_container() -> None:
    """A Deployment is available only when its whole pod is."""
    composer = StatusComposer(T0)
    records = [a_record(RUNNING, ready=True), a_record(RUNNING)]
    half = PodState(volumes_ready=True, containers=records, finished=False)

    shown = conditions(composer, half, T0)

    assert shown["Ready"]["status"] == "False"
    assert shown["ContainersReady"]["message"].endswith("status: ['main']")
    ready = conditions(composer, a_state(RUNNING, ready=True), T0)
    assert ready["Ready"]["status"] == "True"
    assert set(ready) == {
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodScheduled",
    }


def test_what_the_probe_said_is_in_the_condition() -> None:
    """`helm --wait` only times out; this is where the reason can be read."""
    record = a_record(RUNNING)
    record.probe_failure = "readiness probe failed: 500 informer-sync failed"
    state = PodState(volumes_ready=True, containers=[record], finished=False)

    shown = conditions(StatusComposer(T0), state, T0)

    assert shown["Ready"]["message"].endswith(f"['main']; main: {record.probe_failure}")


def test_a_condition_keeps_the_time_of_its_last_change() -> None:
    """`minReadySeconds` and availability count from it."""
    composer = StatusComposer(T0)
    later = T0 + timedelta(seconds=10)
    conditions(composer, a_state(RUNNING), T0)

    shown = conditions(composer, a_state(RUNNING, ready=True), later)

    assert shown["Ready"]["lastTransitionTime"] == "2026-01-01T00:00:10Z"
    assert shown["Initialized"]["lastTransitionTime"] == "2026-01-01T00:00:00Z"


def test_an_ended_container_shows_its_code_and_times() -> None:
    """The first question after a crash."""
    record = a_record(Waiting("CrashLoopBackOff", "back-off 2 s"))
    record.last = Terminated(3, T0, T0 + timedelta(seconds=5), "liveness probe failed")

    shown = record.manifest()

    assert shown["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert shown["lastState"]["terminated"] == {
        "exitCode": 3,
        "reason": "Error",
        "startedAt": "2026-01-01T00:00:00Z",
        "finishedAt": "2026-01-01T00:00:05Z",
        "message": "liveness probe failed",
    }
