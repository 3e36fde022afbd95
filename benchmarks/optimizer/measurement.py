"""One call to the service, measured from outside."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field

import grpc
import psutil

from benchmarks.optimizer.record import Record, TierClaim, value_of
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.optimizer_service.service import RunningService, call_failed

INTERVAL_S = 0.05


def pss_bytes(processes: Iterable[psutil.Process]) -> int:
    """Return the sum of proportional set sizes, without processes that have ended."""
    total = 0
    for process in processes:
        with suppress(psutil.Error):
            total += process.memory_full_info().pss
    return total


class Peak:
    """The largest sum of proportional set sizes seen, in bytes.

    Pages that forked processes share count once in the sum.
    """

    def __init__(self) -> None:
        self.peak_bytes = 0

    def sample(self, pid: int) -> None:
        """Look at the process ``pid`` and everything below it."""
        try:
            top = psutil.Process(pid)
            processes = [top, *top.children(recursive=True)]
        except psutil.Error:
            return
        self.peak_bytes = max(self.peak_bytes, pss_bytes(processes))


@contextmanager
def watched_memory(pid: int) -> Iterator[Peak]:
    """Watch the memory of ``pid`` and its children from a thread of its own."""
    peak, done = Peak(), threading.Event()

    def watch() -> None:
        while not done.wait(INTERVAL_S):
            peak.sample(pid)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()


GRACE_S = 30.0
"""Beyond its limit a call is given this, and is then an error of the service."""


@dataclass(frozen=True, slots=True)
class Call:
    """What the service is asked."""

    case: str
    arm: str
    request: pb.SolveRequest
    watches_memory: bool = False


def measure(service: RunningService, call: Call) -> Record:
    """Return what one call gave."""
    snapshot, options = call.request.snapshot, call.request.options
    seen = _Seen()
    watched = watched_memory(service.pid) if call.watches_memory else nullcontext()
    try:
        with watched as peak:
            timeout_s = options.time_limit_s + GRACE_S
            seen.follow(service.stub.Solve(call.request, timeout=timeout_s))
    except grpc.RpcError as error:
        raise call_failed(call.case, call.arm, str(error.details())) from None
    last = seen.last
    if last is None or last.end_reason == pb.END_REASON_ERROR:
        why = "the stream ended early" if last is None else last.message
        raise call_failed(call.case, call.arm, why)
    in_use = last.plan.nodes_in_use
    return Record(
        case=call.case,
        arm=call.arm,
        optimal=last.plan.optimal,
        value=value_of(snapshot, last.plan, strict=options.policy == pb.POLICY_STRICT),
        tiers=tuple(_claim(tier) for tier in last.plan.tiers),
        refused=tuple(sorted({one.subject for one in last.refusals})),
        wall_s=seen.wall_s,
        first_plan_s=seen.first_plan_s,
        solve_s=last.durations.solve_s,
        peak_bytes=peak.peak_bytes if peak is not None else None,
        nodes_before=in_use.before,
        nodes_after=in_use.after,
        nodes_lower_bound=in_use.lower_bound,
        price_before_micros=in_use.price_before_micros,
        price_after_micros=in_use.price_after_micros,
        price_lower_bound_micros=in_use.price_lower_bound_micros,
    )


@dataclass(slots=True)
class _Seen:
    """What the caller sees of a stream of updates, with the moments."""

    started: float = field(default_factory=time.perf_counter)
    wall_s: float = 0.0
    first_plan_s: float | None = None
    last: pb.SolveUpdate | None = None

    def follow(self, updates: Iterator[pb.SolveUpdate]) -> None:
        for update in updates:
            self.wall_s = time.perf_counter() - self.started
            if update.plan.placements and self.first_plan_s is None:
                self.first_plan_s = self.wall_s
            if update.last:
                self.last = update


def _claim(tier: pb.TierResult) -> TierClaim:
    return TierClaim(
        placed_before=tier.placed_before,
        placed=tier.placed,
        upper_bound=tier.upper_bound,
        optimal=tier.optimal,
        disruption=tier.disruption,
        disruption_lower_bound=tier.disruption_lower_bound,
    )
