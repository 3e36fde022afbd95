"""How far a solve is, read from its newest plan."""

from __future__ import annotations

from optimizer.contract import optimizer_pb2 as pb


def progress_of(update: pb.SolveUpdate) -> pb.Progress | None:
    """Return how far the solve is: the first tier that is not proved, or the last.

    What the solver says itself goes before; None if the update tells nothing.
    """
    if update.HasField("progress"):
        return update.progress
    tiers = update.plan.tiers
    if not tiers:
        return None
    tier = next((one for one in tiers if not one.optimal), tiers[-1])
    return pb.Progress(
        priority=tier.priority,
        placed=tier.placed,
        upper_bound=tier.upper_bound,
        disruption=tier.disruption,
        disruption_lower_bound=tier.disruption_lower_bound,
    )


def progress_line(progress: pb.Progress, elapsed_s: float) -> str:
    """Return ``progress`` as a line for a terminal."""
    stage = f", {progress.stage}" if progress.stage else ""
    return (
        f"{elapsed_s:8.3f} s: priority {progress.priority} and above: "
        f"{progress.placed} of at most {progress.upper_bound} placed, disruption "
        f"{progress.disruption} (at least {progress.disruption_lower_bound}){stage}"
    )
