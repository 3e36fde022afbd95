"""The schedulers of the evaluation, and what is waited for with each."""

from __future__ import annotations

from dataclasses import dataclass

from stowage_testbed.compare.arms.default import default_arm
from stowage_testbed.compare.arms.stowage import PROFILE, StowageArm
from stowage_testbed.run.arm import Arm
from stowage_testbed.simulate import NO_PROTECTION

BATCH_S = 1.0
"""The paper's batches wait 30 s for more pods. These are complete when they begin, so
that waiting would only take time."""

SOLVE_S = 5.0
QUIET_S = 2.5
"""A scheduler that left pods out tries those again, to which something new may help,
within two seconds at the second attempt."""


@dataclass(frozen=True, slots=True)
class Contender:
    """An arm.

    Attributes
    ----------
    plans
        Whether it places by plans.
    quiet_s
        Nothing must change for so long before pods are said to be left out.
    """

    arm: Arm
    about: str
    plans: bool
    quiet_s: float

    @property
    def name(self) -> str:
        """Return the word for it."""
        return self.arm.name


def contenders() -> tuple[Contender, ...]:
    """Return them all, the stock scheduler first."""
    return (
        Contender(
            default_arm(), "one pod after the other", plans=False, quiet_s=QUIET_S
        ),
        Contender(
            StowageArm("stowage", PROFILE, _batches()),
            "batches, all or nothing, on the fewest nodes",
            plans=True,
            quiet_s=BATCH_S + SOLVE_S + QUIET_S,
        ),
        Contender(
            StowageArm("stowage-moves", PROFILE, _moves()),
            "as installed, but sparing nobody: pods that do not fit make others move",
            plans=True,
            quiet_s=SOLVE_S + QUIET_S,
        ),
    )


def _batches() -> dict[str, object]:
    return {
        "priorityOptimizer": {
            "mode": "Batch",
            "strategy": "boreas",
            "batchSeconds": BATCH_S,
            "timeLimitSeconds": SOLVE_S,
            **NO_PROTECTION,
        }
    }


def _moves() -> dict[str, object]:
    return {"priorityOptimizer": {"timeLimitSeconds": SOLVE_S, **NO_PROTECTION}}
