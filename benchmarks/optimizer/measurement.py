"""One call to the service, measured from outside."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass

import grpc
import psutil

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.optimizer_service.service import GRACE_S, RunningService, call_failed
from stowage_testbed.reproduce.rebuilding import TierRow

Value = tuple[tuple[int, int, int], ...]
"""A tier an entry, highest first; compared lexicographically, larger is better. Of each:
minus the evictions of exactly this priority, placed, minus the disruption."""

Saved = tuple[int, int, int]
"""Before, after, and the proved least."""


@dataclass(frozen=True, slots=True)
class Record:
    """One call: the instance, and the arm that solved it with which limit.

    ``value`` is what the plan is worth, highest tier first, and ``refused`` what the strategy left alone. The caller's
    clock has ``wall_s`` until the last update and ``first_plan_s``; ``peak_bytes`` is that of the service and its
    children. Nodes in use, and what an hour of them costs, are of the objective CONSOLIDATE only.
    """

    case: str
    arm: str
    optimal: bool
    value: Value
    tiers: tuple[TierRow, ...]
    refused: tuple[str, ...]
    wall_s: float
    first_plan_s: float | None
    solve_s: float
    peak_bytes: int | None = None
    nodes: Saved = (0, 0, 0)
    price_micros: Saved = (0, 0, 0)


def measure(
    service: RunningService, case: str, arm: str, request: pb.SolveRequest, *, watches_memory: bool = False
) -> Record:
    """Return what one call gave."""
    return measure_plan(service, case, arm, request, watches_memory=watches_memory)[0]


def measure_plan(
    service: RunningService, case: str, arm: str, request: pb.SolveRequest, *, watches_memory: bool = False
) -> tuple[Record, pb.SolveUpdate]:
    """Return what one call gave, and its last update, which has the plan."""
    began = time.perf_counter()
    wall_s, last = 0.0, pb.SolveUpdate(message="the stream ended early")
    first_plan_s: float | None = None
    try:
        with watched_memory(service.pid) if watches_memory else nullcontext() as peak:
            for last in service.stub.Solve(request, timeout=request.options.time_limit_s + GRACE_S):
                wall_s = time.perf_counter() - began
                if last.plan.placements and first_plan_s is None:
                    first_plan_s = wall_s
    except grpc.RpcError as error:
        raise call_failed(case, arm, str(error.details())) from None
    if not last.last or last.end_reason == pb.END_REASON_ERROR:
        raise call_failed(case, arm, last.message)
    plan, used = last.plan, last.plan.nodes_in_use
    record = Record(
        case=case,
        arm=arm,
        optimal=plan.optimal,
        value=_value_of(request, plan),
        tiers=tuple(map(TierRow.of, plan.tiers)),
        refused=tuple(sorted({one.subject for one in last.refusals})),
        wall_s=wall_s,
        first_plan_s=first_plan_s,
        solve_s=last.durations.solve_s,
        peak_bytes=peak[-1] if peak is not None else None,
        nodes=(used.before, used.after, used.lower_bound),
        price_micros=(used.price_before_micros, used.price_after_micros, used.price_lower_bound_micros),
    )
    return record, last


def _value_of(request: pb.SolveRequest, plan: pb.Plan) -> Value:
    """Return the value of a plan; where the policy is not strict, evictions do not count."""
    strict = request.options.policy == pb.POLICY_STRICT
    priorities = {one.id: one.priority for one in request.snapshot.pod_classes}
    by_uid = {pod.uid: priorities[pod.class_id] for pod in request.snapshot.pods}
    evicted = Counter(by_uid[one.pod_uid] for one in plan.evictions)
    return tuple((-evicted[tier.priority] if strict else 0, tier.placed, -tier.disruption) for tier in plan.tiers)


INTERVAL_S = 0.05


@contextmanager
def watched_memory(pid: int) -> Iterator[list[int]]:
    """Watch the memory of ``pid`` and its children from a thread of its own.

    The list ends with the largest sum of proportional set sizes: shared pages count once.
    """
    peak, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(INTERVAL_S):
            total = 0
            with suppress(psutil.Error):
                top = psutil.Process(pid)
                for process in (top, *top.children(recursive=True)):
                    with suppress(psutil.Error):
                        total += process.memory_full_info().pss
            peak.append(max(peak[-1], total))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()
