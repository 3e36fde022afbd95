"""What a child sends while it solves: plans, and how far the last one is proved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.encode import encode_plan
from stowage_optimizer.model.plan import Plan
from stowage_optimizer.service.progress import progress_of_tiers


@dataclass(slots=True)
class UpdateWriter:
    """Writes plans as updates.

    Parameters
    ----------
    send
        Sends one update, serialised.
    strategy
        Its name.
    started, decoded
        When the request had come, and when the solve began; in the clock's seconds.
    """

    send: Callable[[bytes], object]
    strategy: str
    started: float
    decoded: float
    _sent: tuple[object, ...] = field(init=False, default=())

    def write(self, plan: Plan, found: float) -> None:
        """Send ``plan``; only its progress if its changes have been sent before."""
        changes = (plan.placements, plan.moves, plan.evictions)
        update = pb.SolveUpdate(
            strategy=self.strategy,
            durations=pb.Durations(
                decode_s=self.decoded - self.started, solve_s=found - self.decoded
            ),
        )
        if changes == self._sent:
            # There is nothing in it for the service to check anew.
            progress = progress_of_tiers(plan.tiers)
            if progress is None:
                return
            update.progress.CopyFrom(progress)
        else:
            update.plan.CopyFrom(encode_plan(plan))
        self._sent = changes
        self.send(update.SerializeToString())
