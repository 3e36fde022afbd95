"""One call from the first byte to the last update: turn, child, check, account.

The caller's limit is the solver's: it begins when the child has read its snapshot, and
what comes before and after has bounds of its own, which grow with the request. So a
caller is answered `grace_s` after its limit at the latest, with whatever has passed the
checker by then, and knows that before it asks; see `time_limit_s` in the contract.
"""

import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from google.protobuf.message import DecodeError

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.options import LARGEST_TIME_LIMIT_S
from stowage_optimizer.service.call_queue import CallQueue
from stowage_optimizer.service.child_run import ChildRun
from stowage_optimizer.service.errors import CallRefusedError, WorkerStartError
from stowage_optimizer.service.logs import logger_of
from stowage_optimizer.service.metrics import Metrics
from stowage_optimizer.service.plan_checks import CheckedRun, PlanCheck, changes_something
from stowage_optimizer.service.settings import MIB, WorkerSettings
from stowage_optimizer.service.updates import last_update, progress_of
from stowage_optimizer.service.workers import Workers


def _growing(fixed_s: float, s_per_byte: float) -> Callable[[int], float]:
    """Return what gives seconds by the bytes of a request."""
    return lambda request_bytes: fixed_s + s_per_byte * request_bytes


reading_limit_s = _growing(1.5, 0.5e-6)
"""When a child is killed that has not read its request. Twelve times what 50,000 pods (8 MB)
take a core: a machine may be busy, and terms with many selectors take three times as long a byte."""

kill_after_s = _growing(0.05, 0.01e-6)
"""When a child is killed after its time limit: its last plan is still written until then."""

answer_after_s = _growing(0.15, 0.14e-6)
"""When the caller is answered after that, also if the last plan is still being checked."""

checking_s = _growing(0.0, 0.025e-6)
"""What checking one plan takes, about, on a core that is shared: 64,000 pods on 5,000
nodes (4.4 MB) took 0.06 s on one that was not."""

CHECKING_SHARE = 0.2
"""Part of the time limit that is kept back for checking the last plan, at the most."""


def grace_s(request_bytes: int) -> float:
    """Return the seconds after its time limit when a call is answered at the latest."""
    return reading_limit_s(request_bytes) + kill_after_s(request_bytes) + answer_after_s(request_bytes)


Listen = Callable[[pb.Progress], object]
"""Called with the progress of a solve whenever it changes."""


@dataclass(slots=True)
class Call:
    """A call in progress, and the way to end it early."""

    on_progress: Listen
    left: threading.Event = field(default_factory=threading.Event)
    run: ChildRun | None = None

    def leave(self, queue: CallQueue) -> None:
        """End the call: its caller has gone away, or the service stops."""
        self.left.set()
        queue.wake()
        if self.run is not None:
            self.run.cancel()


@dataclass(slots=True)
class CallHandler:
    """Answers calls, one solve at a time.

    Parameters
    ----------
    workers
        Where the children come from.
    """

    workers: Workers
    settings: WorkerSettings
    max_request_bytes: int = 64 * MIB
    queue_length: int = 4
    metrics: Metrics = field(default_factory=Metrics)
    queue: CallQueue = field(init=False)
    _calls: list[Call] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.queue = CallQueue(self.queue_length)

    def solve(
        self, body: bytes, on_call: Callable[[Callable[[], None]], object], on_progress: Listen = lambda _progress: None
    ) -> Iterator[pb.SolveUpdate]:
        """Yield whole, verified updates; the last carries the end reason.

        Parameters
        ----------
        on_call
            Called with the function that ends the call early.
        on_progress
            Called with the progress, also while there is no better plan.

        Raises
        ------
        CallRefusedError
            The call is not taken.
        """
        arrived = time.monotonic()
        request = self._parse(body)
        limit_s = _time_limit_s(request, self.settings)
        call = Call(on_progress)
        self._calls.append(call)
        try:
            on_call(lambda: call.leave(self.queue))
            self.queue.take(limit_s, call.left)
            yield from self._answer(call, request, body, arrived, arrived + limit_s)
        finally:
            call.leave(self.queue)
            self._calls.remove(call)

    def stop(self) -> None:
        """End every call; each gets a last update that says `CANCELLED`."""
        for call in tuple(self._calls):
            call.leave(self.queue)

    def _parse(self, body: bytes) -> pb.SolveRequest:
        if len(body) > self.max_request_bytes:
            raise CallRefusedError(
                "RESOURCE_EXHAUSTED",
                f"the request has {len(body)} bytes, the service takes "
                f"{self.max_request_bytes}; raise --max-request-bytes or send a "
                "smaller snapshot",
            )
        try:
            return pb.SolveRequest.FromString(body)
        except DecodeError as error:
            raise CallRefusedError(
                "INVALID_ARGUMENT",
                f"the bytes are no SolveRequest: {error}; caller and service must be built from the same contract",
            ) from None

    def _answer(
        self, call: Call, request: pb.SolveRequest, body: bytes, arrived: float, deadline: float
    ) -> Iterator[pb.SolveUpdate]:
        log = logger_of(request.snapshot.id)
        log.info(
            "solve started",
            extra={
                "nodes": len(request.snapshot.nodes),
                "pods": len(request.snapshot.pods),
                "strategy": request.options.strategy,
                "time_left_s": round(deadline - time.monotonic(), 4),
            },
        )
        try:
            run = self._start(call, body, deadline)
        except WorkerStartError as error:
            last = last_update(pb.END_REASON_ERROR, str(error))
            yield self._account(request, last, arrived)
            return
        with self.metrics.inflight.track_inprogress():
            last = yield from self._checked_updates(call, request, run, len(body))
        if run.killed:
            self.metrics.killed.inc()
        # A child that was killed has not reported how long it took.
        last.durations.decode_s = last.durations.decode_s or run.read_s
        yield self._account(request, last, arrived)

    def _checked_updates(
        self, call: Call, request: pb.SolveRequest, run: ChildRun, request_bytes: int
    ) -> Generator[pb.SolveUpdate, None, pb.SolveUpdate]:
        """Yield the updates that pass the checker; return the last one."""
        checked_run = CheckedRun(
            run,
            PlanCheck(request, self.metrics),
            answer_after_s=answer_after_s(request_bytes),
            checking_s=checking_s(request_bytes),
        )
        try:
            for update in checked_run.updates():
                progress = progress_of(update)
                if progress is not None:
                    self.metrics.progressed(progress)
                    call.on_progress(progress)
                if update.last:
                    return update
                if changes_something(update):
                    yield update
        finally:
            checked_run.close()
        raise AssertionError("a checked run ended without a last update")

    def _start(self, call: Call, body: bytes, deadline: float) -> ChildRun:
        try:
            child = self.workers.take(max(0.0, deadline - time.monotonic()))
        except BaseException:
            self.queue.give_back()
            raise
        # What was spent on waiting for the turn and for a child is gone; the rest is
        # the solver's, from when it has read, and its last plan is checked within it.
        left_s = max(0.0, deadline - time.monotonic())
        kept_s = min(checking_s(len(body)), CHECKING_SHARE * left_s)
        run = ChildRun(
            child,
            body,
            reading_limit_s=reading_limit_s(len(body)),
            time_limit_s=left_s - kept_s,
            kill_after_s=kept_s + kill_after_s(len(body)),
            on_end=self.queue.give_back,
            prepare=self._prepare,
        )
        call.run = run
        if call.left.is_set():
            run.cancel()
        return run

    def _prepare(self) -> None:
        # The service may be stopping.
        with suppress(WorkerStartError):
            self.workers.prepare()

    def _account(self, request: pb.SolveRequest, last: pb.SolveUpdate, arrived: float) -> pb.SolveUpdate:
        """Return the last update, after counting and logging it."""
        total_s = time.monotonic() - arrived
        last.durations.total_s = total_s
        reason = pb.EndReason.Name(last.end_reason).removeprefix("END_REASON_")
        # Only a strategy that a child knew gets a label of its own.
        self.metrics.ended(last.strategy or "none", reason, total_s)
        logger_of(request.snapshot.id).info(
            "solve ended",
            extra={
                "end_reason": reason,
                "total_s": round(total_s, 4),
                "placements": len(last.plan.placements),
                "moves": len(last.plan.moves),
                "evictions": len(last.plan.evictions),
                "optimal": last.plan.optimal,
                "message": last.message,
            },
        )
        return last


def _time_limit_s(request: pb.SolveRequest, settings: WorkerSettings) -> float:
    asked = request.options.time_limit_s
    # The child reports a limit out of range, together with every other issue.
    return asked if 0 < asked <= LARGEST_TIME_LIMIT_S else settings.time_limit_s
