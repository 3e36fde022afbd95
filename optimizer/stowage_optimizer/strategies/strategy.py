"""What every strategy looks like from outside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from stowage_optimizer.model.options import Clock, SolveOptions
from stowage_optimizer.model.plan import EndReason, Plan
from stowage_optimizer.model.refusal import Refusal
from stowage_optimizer.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Answer:
    """How a solve ended.

    Parameters
    ----------
    plan
        The best plan; empty where nothing better than the present was found.
    end_reason
        Why the solve ended.
    refusals
        What was left out, and why.
    message
        Any further message.
    """

    plan: Plan
    end_reason: EndReason
    refusals: tuple[Refusal, ...] = ()
    message: str = ""


class Strategy(Protocol):
    """Finds plans for snapshots."""

    def solve(
        self,
        snapshot: Snapshot,
        options: SolveOptions,
        *,
        clock: Clock,
        publish: Callable[[Plan], None],
    ) -> Answer:
        """Return the best plan found within ``options.time_limit_s``.

        Parameters
        ----------
        snapshot
            A valid snapshot.
        options
            Options with defaults filled in.
        clock
            Source of time.
        publish
            Called with each plan that is better than the one before. The first call may
            pass the empty plan, so that its bounds are known. If the strategy overruns
            and is stopped from outside, the last plan published counts.
        """
        ...


def end_reason_of(plan: Plan) -> EndReason:
    """Return the end reason of a strategy that ended by itself with ``plan``."""
    if plan.empty:
        return EndReason.NO_IMPROVEMENT
    return EndReason.OPTIMAL if plan.optimal else EndReason.TIME_LIMIT
