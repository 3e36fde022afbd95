"""The plan gate: an update goes out only if the verifier accepts its plan."""

from __future__ import annotations

import time
from collections.abc import Callable

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.service.last_update import last_update
from stowage_optimizer.service.logs import logger_of
from stowage_optimizer.service.metrics import Metrics
from stowage_optimizer.service.progress import progress_of
from stowage_optimizer.verify.checker import Checker

SHOWN = 10
"""Broken rules spelled out in one message."""


class PlanGate:
    """Checks the updates of one call.

    Parameters
    ----------
    request
        What was asked.
    metrics
        Where plans that fail are counted.
    """

    def __init__(self, request: pb.SolveRequest, metrics: Metrics) -> None:
        self._request = request
        self._metrics = metrics
        self._checker: Checker | None = None
        self._accepted: pb.Plan | None = None
        self._checked_s = 0.0

    def get_ready(self) -> None:
        """Index the snapshot, which takes a while if it is large."""
        options = self._request.options
        self._checker = Checker(self._request.snapshot, options.policy, options)

    def check(
        self, update: pb.SolveUpdate, stop: Callable[[], bool]
    ) -> pb.SolveUpdate | None:
        """Return ``update`` as it may go out; None if ``stop`` returned True first.

        A plan that fails is withheld: a last update with `ERROR` takes its place. Of a
        plan that changes nothing only the progress is reported, without a check.
        """
        if not update.HasField("plan"):
            return update
        if update.plan == self._accepted:
            update.durations.verify_s = self._checked_s
            return update
        if not (update.last or changes_something(update)):
            return pb.SolveUpdate(progress=progress_of(update))
        if self._checker is None:
            self.get_ready()
        assert self._checker is not None  # noqa: S101 - it is ready now
        started = time.monotonic()
        violations = self._checker.violations(update.plan, stop)
        if violations is None:
            return None
        self._checked_s = time.monotonic() - started
        update.durations.verify_s = self._checked_s
        if not violations:
            self._accepted = update.plan
            return update
        self._metrics.verify_failures.inc()
        listed = "; ".join(str(violation) for violation in violations[:SHOWN])
        logger_of(self._request.snapshot.id).error(
            "plan withheld", extra={"violations": listed}
        )
        message = f"the plan broke {len(violations)} rules: {listed}"
        return last_update(pb.END_REASON_ERROR, message)


def changes_something(update: pb.SolveUpdate) -> bool:
    """Return whether the plan of ``update`` has a placement, move or eviction."""
    plan = update.plan
    return bool(plan.placements or plan.moves or plan.evictions)
