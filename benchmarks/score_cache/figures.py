"""The figures of the benchmark: speed, ratios, spread, and broken demands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from benchmarks.score_cache.outcome import Outcome
from benchmarks.score_cache.rounds import ARMS, CACHE, STOCK
from benchmarks.score_cache.workload import Workload
from stowage_testbed.text.figure import Figure, at_least, at_most, figure

FASTER = at_least(3)
"""Asked for with equal pods on 5,000 nodes."""
WANTED = (Workload.EQUAL, 5000)
EVEN_ENOUGH = 0.0
HIT_SHARE = "score_cache_hits_total"


def score_cache_figures(outcomes: Sequence[Outcome]) -> Iterator[Figure]:
    """Yield every figure, case by case."""
    for case in dict.fromkeys(one.case for one in outcomes):
        of_case = [one for one in outcomes if one.case == case]
        for arm in ARMS:
            runs = [one for one in of_case if one.arm == arm.name]
            yield from _of_arm(case, arm.name, arm.note, runs)
        yield from _compared(case, of_case)


def _of_arm(
    case: str, arm: str, note: str, runs: Sequence[Outcome]
) -> Iterator[Figure]:
    name = f"{case}: {arm}"
    speeds = [one.pods_s for one in runs]
    yield figure(f"{name}: speed", "pods/s", speeds, median, note=note)
    busy = [one.pods_cpu_s for one in runs]
    yield figure(f"{name}: speed of its processor time", "pods/s", busy, median)
    yield figure(f"{name}: Jain's index", "", [one.jain for one in runs], min)
    yield figure(f"{name}: CV", "", [one.cv for one in runs], max)
    if arm == CACHE.name:
        shares = [100 * one.counters.get(HIT_SHARE, 0) / one.placed for one in runs]
        yield figure(f"{name}: placed by a ranking of earlier pods", "%", shares, min)


def _compared(case: str, outcomes: Sequence[Outcome]) -> Iterator[Figure]:
    stock = {one.round_number: one for one in outcomes if one.arm == STOCK.name}
    pairs = [
        (one, stock[one.round_number])
        for one in outcomes
        if one.arm == CACHE.name and one.round_number in stock
    ]
    wanted = case == "{}, {} nodes".format(*WANTED)
    faster = FASTER if wanted else None
    note = "round by round"
    ratios = [cache.pods_s / rival.pods_s for cache, rival in pairs]
    name = f"{case}: score-cache over stock"
    yield figure(name, "x", ratios, median, faster, note=note)
    busy = [cache.pods_cpu_s / rival.pods_cpu_s for cache, rival in pairs]
    yield figure(f"{name}, processor time", "x", busy, median, faster, note=note)
    even = [cache.jain - rival.jain for cache, rival in pairs]
    yield figure(
        f"{case}: Jain's index beside stock's", "", even, min, at_least(EVEN_ENOUGH),
        note="the least of the rounds' differences",
    )  # fmt: skip
    fewer = [float(rival.placed - cache.placed) for cache, rival in pairs]
    yield figure(f"{case}: pods that only stock places", "pods", fewer, max, at_most(0))
    broken = [float(cache.violations) for cache, _ in pairs]
    name = f"{case}: overfull nodes and broken constraints"
    yield figure(name, "", broken, max, at_most(0))
