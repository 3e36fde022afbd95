"""Steps of scenarios that have no file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stowage_testbed.scenario.model import QUIET_S, Workload
from stowage_testbed.scenario.steps.action import Action, Step
from stowage_testbed.scenario.steps.applying import ApplyInTurn, Pack, Release
from stowage_testbed.scenario.steps.waiting import Check, Checkpoint, Wait

BEFORE, AFTER = "before", "after"
"""The checkpoints before the optimiser packs, and after it."""


def imply_steps(workload: Sequence[Workload]) -> tuple[Step, ...]:
    """Have a deterministic scheduler place the workload, then the optimiser pack what is there."""
    return make_steps(
        (
            Release(),
            ApplyInTurn(tuple(one.name for one in workload)),
            Wait("settled", stable_s=QUIET_S),
            Checkpoint(BEFORE),
            Release("optimizer", optimizer=True),
            Pack(),
            Check(since=BEFORE),
            Checkpoint(AFTER),
        )
    )


def make_steps(actions: Iterable[Action]) -> tuple[Step, ...]:
    """Return actions as steps that stand in no line of a file."""
    return tuple(Step(n, 0, action) for n, action in enumerate(actions, start=1))
