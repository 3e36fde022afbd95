"""How many pods are placed at the window's end, and what had to move for it."""

from __future__ import annotations

from collections.abc import Iterator

from stowage_testbed.metrics.metric import Metric
from stowage_testbed.metrics.record import RunRecord, find_state_at_end


def measure_placed(record: RunRecord) -> Iterator[Metric]:
    """Yield placed pods, the gap to the optimiser's bound, moves and evictions."""
    state = find_state_at_end(record)
    placed, n = len(state.bound), len(state.pods)
    yield Metric("placed_pods", placed, "pods", "higher", n, 1.0)
    yield Metric("unplaced_pods", len(state.pending), "pods", "lower", n, 1.0)
    yield _measure_gap(record.bound_placed, placed, n)
    yield Metric("moves_pods", record.moves, "pods", "lower", n, 1.0)
    yield Metric("evictions_pods", record.evictions, "pods", "lower", n, 1.0)


def _measure_gap(bound: int | None, placed: int, n: int) -> Metric:
    name = "gap_to_bound_pods"
    if bound is None:
        note = "no plan proves a bound for the state at the end"
        return Metric(name, None, "pods", "lower", n, 1.0, note)
    note = "more than proved possible: the bound is wrong" if placed > bound else ""
    return Metric(name, bound - placed, "pods", "lower", n, 1.0, note)
