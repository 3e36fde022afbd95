"""Updates that do not come from the solver, and how far its newest plan is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stowage_optimizer.contract import optimizer_pb2 as pb

if TYPE_CHECKING:
    # The process that serves loads no arrays.
    from stowage_optimizer.model.solution import TierResult


PROGRESS = ("priority", "placed", "upper_bound", "disruption", "disruption_lower_bound")
"""What progress tells of a tier, by the names of the contract."""


def last_update(
    reason: pb.EndReason, message: str, best: pb.SolveUpdate | None = None, strategy: str = ""
) -> pb.SolveUpdate:
    """Return a last update for ``reason``, with the plan of ``best`` if there is one.

    It names ``strategy``, or else that of ``best``, and how long that plan took.
    """
    last = pb.SolveUpdate(end_reason=reason, last=True, message=message, strategy=strategy)
    if best is not None:
        last.plan.CopyFrom(best.plan)
        last.durations.CopyFrom(best.durations)
        last.strategy = strategy or best.strategy
    return last


def progress_of(update: pb.SolveUpdate) -> pb.Progress | None:
    """Return how far the solve is: the first tier that is not proved, or the last.

    What the solver reports itself takes precedence; None if there is nothing.
    """
    if update.HasField("progress"):
        return update.progress
    return progress_of_tiers(update.plan.tiers)


def progress_of_tiers(tiers: Sequence[pb.TierResult] | Sequence[TierResult]) -> pb.Progress | None:
    """Return how far a plan with ``tiers`` is; None if there are none."""
    if not tiers:
        return None
    tier = next((one for one in tiers if not one.optimal), tiers[-1])
    return pb.Progress(**{name: getattr(tier, name) for name in PROGRESS})


def progress_line(progress: pb.Progress, elapsed_s: float) -> str:
    """Return ``progress`` as a line for a terminal."""
    return (
        f"{elapsed_s:8.3f} s: priority {progress.priority} and above: "
        f"{progress.placed} of at most {progress.upper_bound} placed, disruption "
        f"{progress.disruption} (at least {progress.disruption_lower_bound})"
    )
