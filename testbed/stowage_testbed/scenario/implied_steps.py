"""The steps that a file has without writing them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stowage_testbed.scenario.expectations import Expectations
from stowage_testbed.scenario.model import QUIET_S, Arrival, Workload
from stowage_testbed.scenario.steps.action import Action, Step
from stowage_testbed.scenario.steps.applying import Apply, ApplyInTurn
from stowage_testbed.scenario.steps.scheduling import Pack, Release
from stowage_testbed.scenario.steps.waiting import END, Checkpoint, Wait

BEFORE, AFTER = "before", "after"
"""The checkpoints of a scenario whose file has no steps."""


def imply_steps(
    workload: Sequence[Workload], arrival: Arrival = "sequential", expect: Expectations | None = None
) -> tuple[Step, ...]:
    """Return what a file without steps stands for.

    A deterministic scheduler places the workload; then the optimiser packs what is
    there.
    """
    expect = expect or Expectations()
    names = tuple(one.name for one in workload)
    return make_steps(
        (
            Release(),
            Apply(names) if arrival == "burst" else ApplyInTurn(names),
            Wait("settled", stable_s=QUIET_S),
            Checkpoint(BEFORE, expect.deterministic),
            Release("optimizer", optimizer=True),
            Pack(),
            Checkpoint(AFTER, expect.optimizer, since=BEFORE),
        )
    )


def add_ends(written: Sequence[Step], release: Release, expect: Expectations) -> tuple[Step, ...]:
    """Return the steps of a file with the release before them, and the end's check."""
    chosen = bool(written) and isinstance(written[0].action, Release)
    first = () if chosen else (Step(0, 0, release),)
    end = Checkpoint(END, expect.end, awaited=True)
    return (*first, *written, Step(len(written) + 1, 0, end))


def make_steps(actions: Iterable[Action]) -> tuple[Step, ...]:
    """Return actions as steps that stand in no line of a file."""
    return tuple(Step(n, 0, action) for n, action in enumerate(actions, start=1))
