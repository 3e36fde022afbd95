"""What one try of a fault showed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

SHOWN = 10
"""Violations and failures that are shown in a line; the journal has all."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One try.

    Parameters
    ----------
    scenario, fault, number, seed
        What was tried; ``seed`` is the suite's.
    limit_s
        Of one solve.
    struck
        Whether the moment came, so that there was a fault at all.
    violations
        What must always hold and did not.
    failures
        What was expected of the scenario and did not come, or the error that ended it.
    phases
        How the plans ended, in their order.
    evictions
        Granted in the whole try.
    writes
        Evictions and bindings by the scheduler while the fault lasted.
    refusals
        Requests of the scheduler to write anything that the API server answered with
        429 or an error of its own while the fault lasted.
    scheduler_restarts, optimizer_restarts
        Of the containers, in the whole try.
    held_s
        How long the pod that came in the middle waited for a decision, or None.
    resumed_s
        From the start of the scheduler's successor to the end of the plan that its
        predecessor left open, or to the first that it did for it; None without one.
    recovered_s
        From the fault to the last change of a pod before recovery.
    second_plan
        Moves and evictions of a plan asked for at the end; None if no optimum was
        proved before.
    took_s
        The whole try.
    facts
        What the fault noted of itself.
    """

    scenario: str
    fault: str
    number: int
    seed: int
    limit_s: float
    struck: bool
    violations: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    phases: tuple[str, ...] = ()
    evictions: int = 0
    writes: int = 0
    refusals: int = 0
    scheduler_restarts: int = 0
    optimizer_restarts: int = 0
    held_s: float | None = None
    resumed_s: float | None = None
    recovered_s: float | None = None
    second_plan: int | None = None
    took_s: float = 0.0
    facts: Mapping[str, float] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether nothing was lost and everything came as expected."""
        return not self.violations and not self.failures and not self.second_plan

    def document(self) -> dict[str, Any]:
        """Return the try as JSON values."""
        return asdict(self)

    def in_words(self) -> str:
        """Return the try in a line."""
        name = f"{self.scenario} {self.number}"
        wrong = (*self.violations, *self.failures)
        if self.second_plan:
            wrong = (*wrong, f"a second plan disrupts {self.second_plan} pods")
        if wrong:
            more = len(wrong) - SHOWN
            shown = (*wrong[:SHOWN], *([f"and {more} more"] if more > 0 else ()))
            return f"{name}: FAILED: {'; '.join(shown)}"
        how = f"plans {', '.join(self.phases) or 'none'}" if self.struck else "missed"
        return f"{name}: {how}, {self.took_s:.1f} s"
