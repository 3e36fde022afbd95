"""Gangs: how many are placed, how long some were half placed, and how long they took; and pods that had to make way.

A gang is *placed* while at least as many of its pods as it needs have a node, and *half placed* while fewer have, but
some. A pod counts until it is evicted, preempted or deleted; one that has succeeded counts on.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import fmean

from stowage_testbed.metrics.latency import percentile
from stowage_testbed.metrics.record import (
    GangRecord,
    Metric,
    PodRecord,
    RunRecord,
    Span,
    StepLine,
    add_up,
    bound_from_s,
    make_metric,
)

HIGH_RANK = 99.0


def measure_gangs(record: RunRecord) -> Iterator[Metric]:
    """Yield gangs placed at the end, seconds half placed, and time to a whole gang, of a run with gangs.

    The time is from the arrival of the last pod that the gang needs to the binding of the last that it needs.
    """
    members = defaultdict[str, list[PodRecord]](list)
    for pod in record.pods:
        if pod.group:
            members[pod.group].append(pod)
    placed, half_s, samples_s, never = 0, 0.0, list[float](), 0
    for gang in record.gangs:
        there = _count(members[gang.name], record.window_s, _come)
        bound = _count(members[gang.name], record.window_s, bound_from_s)
        placed += _last_before(bound, record.window_s) >= gang.min_count
        half_s += _half_placed_s(gang, bound)
        arrived_s, whole_s = _reaches(there, gang.min_count), _reaches(bound, gang.min_count)
        # When one came that was there before the window is not known.
        if arrived_s:
            if whole_s is None:
                never += 1
            else:
                samples_s.append(whole_s - arrived_s)
    n, blur_s = len(record.gangs), record.resolution_s
    yield Metric("placed_gangs", placed, "gangs", "higher", n, 1.0)
    yield Metric("half_placed_s", half_s, "s", "lower", n, n * blur_s)
    waiting = f"{never} of {len(samples_s) + never} gangs were never whole" if never else ""
    missing = waiting or "no gang came in the window"
    mean_s = fmean(samples_s) if samples_s else None
    yield make_metric("time_to_gang_mean_s", mean_s, "s", "lower", len(samples_s), blur_s, waiting, missing)
    high_s, few = percentile(samples_s, HIGH_RANK)
    missing = few if samples_s else missing
    yield make_metric(f"time_to_gang_p{HIGH_RANK:g}_s", high_s, "s", "lower", len(samples_s), blur_s, waiting, missing)


def measure_victims(record: RunRecord) -> Iterator[Metric]:
    """Yield how many pods were evicted or preempted, and how many of these a placed pod of their workload replaced."""
    left_s = defaultdict[str, list[float]](list)
    came_s = defaultdict[str, list[float]](list)
    for pod in record.pods:
        if pod.disrupted_s is not None:
            left_s[pod.workload].append(pod.disrupted_s)
        if pod.created_s is not None and bound_from_s(pod) is not None:
            came_s[pod.workload].append(pod.created_s)
    # One is seen by the watch alone, the other on the run's clock.
    blur_s = max(record.resolution_s, record.watch_resolution_s or 0.0)
    n = sum(map(len, left_s.values()))
    again = sum(_count_replaced(times_s, came_s[workload], blur_s) for workload, times_s in left_s.items())
    yield Metric("victims_pods", n, "pods", "lower", len(record.pods), 1.0)
    yield Metric("victims_placed_again_pods", again, "pods", "higher", n, 1.0)


def _come(pod: PodRecord) -> float:
    return pod.created_s or 0.0


def _count(pods: Iterable[PodRecord], window_s: float, begin_of: Callable[[PodRecord], float | None]) -> StepLine:
    """Return how many pods have begun and not left, from the window's start to its end."""
    spans = list[tuple[Span, int]]()
    for pod in pods:
        begin_s, end_s = begin_of(pod), window_s
        if not pod.succeeded:
            end_s = min((at_s for at_s in (pod.disrupted_s, pod.gone_s) if at_s is not None), default=window_s)
        if begin_s is not None and end_s > begin_s:
            spans.append(((begin_s, end_s), 1))
    return add_up(spans)


def _last_before(line: StepLine, window_s: float) -> int:
    """Return the last value before the window's end, at which all spans end."""
    return next(
        (value for at_s, value in zip(line.times_s[::-1], line.values[::-1], strict=True) if at_s < window_s), 0
    )


def _half_placed_s(gang: GangRecord, bound: StepLine) -> float:
    steps = zip(bound.values, pairwise(bound.times_s), strict=False)
    return sum(end_s - begin_s for value, (begin_s, end_s) in steps if 0 < value < gang.min_count)


def _reaches(line: StepLine, least: int) -> float | None:
    """Return when a count first is so high."""
    return next((at_s for at_s, value in zip(line.times_s, line.values, strict=True) if value >= least), None)


def _count_replaced(left_s: Sequence[float], came_s: Sequence[float], blur_s: float) -> int:
    """Return how many that left can each be given another one that came later."""
    waiting, found = sorted(came_s, reverse=True), 0
    for at_s in sorted(left_s):
        while waiting and waiting[-1] < at_s - blur_s:
            waiting.pop()
        if waiting:
            waiting.pop()
            found += 1
    return found
