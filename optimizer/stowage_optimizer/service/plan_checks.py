"""Checking plans while the solve goes on and the caller waits.

An update goes out only if the verifier accepts its plan. A check of 40,000 pods takes
long. A thread of its own does it, so that the caller is answered in time, with the best
plan that has passed until then.
"""

import threading
import time
from collections.abc import Callable, Iterator

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.service.child_run import ChildRun
from stowage_optimizer.service.logs import logger_of
from stowage_optimizer.service.metrics import Metrics
from stowage_optimizer.service.updates import last_update, progress_of
from stowage_optimizer.verify.checker import Checker

SHOWN = 10
"""Broken rules spelled out in one message."""


class PlanCheck:
    """Checks the updates of one call."""

    _checker: Checker

    def __init__(self, request: pb.SolveRequest, metrics: Metrics) -> None:
        self._request = request
        self._metrics = metrics
        self._accepted: pb.Plan | None = None
        self._checked_s = 0.0

    def get_ready(self) -> None:
        """Index the snapshot, before the first check; it takes a while if it is large."""
        options = self._request.options
        self._checker = Checker(self._request.snapshot, options.policy, options)

    def check(self, update: pb.SolveUpdate, stop: Callable[[], bool]) -> pb.SolveUpdate | None:
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
        logger_of(self._request.snapshot.id).error("plan withheld", extra={"violations": listed})
        message = f"the plan broke {len(violations)} rules: {listed}"
        return last_update(pb.END_REASON_ERROR, message)


def changes_something(update: pb.SolveUpdate) -> bool:
    """Return whether the plan of ``update`` has a placement, move or eviction."""
    plan = update.plan
    return bool(plan.placements or plan.moves or plan.evictions)


NOTHING = "no plan was found and checked in time; raise the time limit"

LATE = "the solver's last plan was not checked in time; this is the best one that was"


class CheckedRun:
    """Passes on the updates of a run that hold.

    Parameters
    ----------
    answer_after_s
        When the caller is answered, in seconds after the moment when the run ends at
        the latest; that is sooner once the snapshot has been read.
    checking_s
        What a check takes, about; until one has been made.
    """

    def __init__(self, run: ChildRun, check: PlanCheck, *, answer_after_s: float, checking_s: float) -> None:
        self._run = run
        self._check = check
        self._answer_after_s = answer_after_s
        self._checking_s = checking_s
        self._changed = threading.Condition()
        self._newest: pb.SolveUpdate | None = None
        self._failure: Exception | None = None
        self._accepted: pb.SolveUpdate | None = None
        self._strategy = ""
        self._over = False
        run.on_read(self._wake)
        threading.Thread(target=self._check_updates, daemon=True).start()

    def updates(self) -> Iterator[pb.SolveUpdate]:
        """Yield updates that hold; the last comes in time, whatever it contains."""
        while True:
            with self._changed:
                self._await_update()
                if self._failure is not None:
                    raise self._failure
                newest, self._newest = self._newest, None
                self._over = self._over or newest is None
            if newest is None:
                self._run.give_up()
                message = NOTHING if self._accepted is None else LATE
                newest = self._instead(pb.END_REASON_TIME_LIMIT, message)
            yield newest
            if newest.last:
                return

    def close(self) -> None:
        """Check no more: no caller waits for it."""
        with self._changed:
            self._over = True

    def _await_update(self) -> None:
        """Return at the next news, or when the caller must be answered."""
        while self._newest is None and self._failure is None:
            left_s = self._answer_by() - time.monotonic()
            if left_s <= 0:
                return
            self._changed.wait(left_s)

    def _answer_by(self) -> float:
        return self._run.ends_by + self._answer_after_s

    def _wake(self) -> None:
        """Wake the waiting caller, whose deadline has changed."""
        with self._changed:
            self._changed.notify_all()

    def _check_updates(self) -> None:
        try:
            # While the child reads its request there is nothing else to do here.
            self._check.get_ready()
            for update in self._run.updates():
                checked = self._checked(update)
                if checked is not None:
                    self._pass_on(checked)
                if self._over or (checked is not None and checked.last):
                    return
        except Exception as error:  # the thread's edge: the caller must hear of it
            with self._changed:
                self._failure = error
                self._changed.notify_all()
        finally:
            self._run.cancel()

    def _checked(self, update: pb.SolveUpdate) -> pb.SolveUpdate | None:
        if update.end_reason == pb.END_REASON_CANCELLED:
            return self._instead(update.end_reason, update.message)
        if not update.last and self._too_late(update):
            return None
        self._strategy = update.strategy or self._strategy
        began = time.monotonic()
        checked = self._check.check(update, lambda: self._idle(update))
        if checked is not None and checked.HasField("plan"):
            self._checking_s = max(time.monotonic() - began, self._checking_s / 2)
        if checked is None or not checked.last:
            return checked
        if not update.last:
            # A plan was withheld: the run must be over before that is reported.
            self._run.cancel()
        if checked.HasField("plan"):
            return checked
        # What has passed before is as good as it was.
        return self._instead(checked.end_reason, checked.message)

    def _too_late(self, update: pb.SolveUpdate) -> bool:
        """Return whether the last plan would have to wait while this one is checked.

        Something must pass, else there is no answer: the first plan is never skipped.
        """
        if self._accepted is None or not update.HasField("plan"):
            return False
        return time.monotonic() + 2 * self._checking_s > self._answer_by()

    def _idle(self, update: pb.SolveUpdate) -> bool:
        """Return whether no caller waits for ``update``.

        The last one overtakes it only if something has passed before: it may take
        longer than there is time.
        """
        if self._over or self._run.cancelled:
            return True
        return self._run.over and not update.last and self._accepted is not None

    def _pass_on(self, update: pb.SolveUpdate) -> None:
        with self._changed:
            if self._over:
                return
            if update.HasField("plan"):
                self._accepted = update
            elif self._newest is not None and not update.last:
                # The plan has not been taken yet; it shows progress too.
                return
            self._newest = update
            self._over = update.last
            self._changed.notify_all()

    def _instead(self, reason: pb.EndReason, message: str) -> pb.SolveUpdate:
        return last_update(reason, message, self._accepted, self._strategy)
