"""Last updates that do not come from the solver."""

from __future__ import annotations

from stowage_optimizer.contract import optimizer_pb2 as pb


def last_update(
    reason: pb.EndReason,
    message: str,
    best: pb.SolveUpdate | None = None,
    strategy: str = "",
) -> pb.SolveUpdate:
    """Return a last update for ``reason``, with the plan of ``best`` if there is one.

    It names ``strategy``, or else that of ``best``, and how long that plan took.
    """
    last = pb.SolveUpdate(
        end_reason=reason, last=True, message=message, strategy=strategy
    )
    if best is not None:
        last.plan.CopyFrom(best.plan)
        last.durations.CopyFrom(best.durations)
        last.strategy = strategy or best.strategy
    return last
