"""A scenario without steps, as the steps that it stands for.

It has two halves: a deterministic scheduler places the workload, then the optimiser
packs what is there. Each half is some steps under one release.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from stowage_testbed.scenario.model import (
    QUIET_S,
    Scenario,
    SchedulerSettings,
    Workload,
)
from stowage_testbed.scenario.steps.action import Action, Step
from stowage_testbed.scenario.steps.applying import Apply
from stowage_testbed.scenario.steps.waiting import Pack, Wait


@dataclass(frozen=True, slots=True)
class Half:
    """Some steps under a release; the name is that of its profile."""

    scheduler: SchedulerSettings
    steps: tuple[Step, ...]

    @property
    def name(self) -> str:
        """What the half is called in reports."""
        return self.scheduler.profile


def halves(scenario: Scenario) -> tuple[Half, Half]:
    """Return what happens to a scenario without steps."""
    return (
        Half(SchedulerSettings("deterministic"), as_steps(_placing(scenario))),
        Half(SchedulerSettings("optimizer", optimizer=True), as_steps([Pack()])),
    )


def in_turn(workload: Iterable[Workload]) -> Iterator[Action]:
    """Yield the creation of each workload, when all pods before it are decided."""
    for one in workload:
        yield Apply((one.name,))
        yield Wait("decided")


def as_steps(actions: Iterable[Action]) -> tuple[Step, ...]:
    """Return actions as steps that stand in no line of a file."""
    return tuple(Step(n, 0, action) for n, action in enumerate(actions, start=1))


def _placing(scenario: Scenario) -> Iterator[Action]:
    if scenario.arrival == "sequential":
        yield from in_turn(scenario.workload)
    else:
        yield Apply(tuple(workload.name for workload in scenario.workload))
    yield Wait("decided", stable_s=QUIET_S)
