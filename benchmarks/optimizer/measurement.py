"""One call to the service, measured from outside."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field

import grpc
import psutil

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.optimizer_service.service import RunningService, call_failed

TierValue = tuple[int, int, int]
"""Minus the evictions of exactly this priority, placed, minus the disruption."""

Value = tuple[TierValue, ...]
"""One entry a tier, highest first; compared lexicographically, larger is better."""


def value_of(snapshot: pb.Snapshot, plan: pb.Plan, *, strict: bool) -> Value:
    """Return the value of a verified ``plan``.

    Where a policy is not strict, evictions of a priority do not count.
    """
    priorities = {one.id: one.priority for one in snapshot.pod_classes}
    by_uid = {pod.uid: priorities[pod.class_id] for pod in snapshot.pods}
    evicted = Counter(by_uid[one.pod_uid] for one in plan.evictions)
    return tuple((-evicted[tier.priority] if strict else 0, tier.placed, -tier.disruption) for tier in plan.tiers)


@dataclass(frozen=True, slots=True)
class TierClaim:
    """What the plan says that it proved of one tier."""

    placed_before: int
    placed: int
    upper_bound: int
    optimal: bool
    disruption: int
    disruption_lower_bound: int


@dataclass(frozen=True, slots=True)
class Record:
    """One call: the instance, and the arm that solved it with which limit.

    ``value`` is what the plan is worth, highest tier first, and ``refused`` what the
    strategy left alone. The caller's clock has ``wall_s`` until the last update and
    ``first_plan_s``; ``peak_bytes`` is that of the service and its children. Nodes in
    use, and what an hour of them costs, are of the objective CONSOLIDATE only.
    """

    case: str
    arm: str
    optimal: bool
    value: Value
    tiers: tuple[TierClaim, ...]
    refused: tuple[str, ...]
    wall_s: float
    first_plan_s: float | None
    solve_s: float
    peak_bytes: int | None = None
    nodes_before: int = 0
    nodes_after: int = 0
    nodes_lower_bound: int = 0
    price_before_micros: int = 0
    price_after_micros: int = 0
    price_lower_bound_micros: int = 0


INTERVAL_S = 0.05


@dataclass(slots=True)
class Peak:
    """The largest sum of proportional set sizes seen; shared pages count once."""

    peak_bytes: int = 0


@contextmanager
def watched_memory(pid: int) -> Iterator[Peak]:
    """Watch the memory of ``pid`` and its children from a thread of its own."""
    peak, done = Peak(), threading.Event()

    def watch() -> None:
        while not done.wait(INTERVAL_S):
            total = 0
            with suppress(psutil.Error):
                top = psutil.Process(pid)
                for process in (top, *top.children(recursive=True)):
                    with suppress(psutil.Error):
                        total += process.memory_full_info().pss
            peak.peak_bytes = max(peak.peak_bytes, total)

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
