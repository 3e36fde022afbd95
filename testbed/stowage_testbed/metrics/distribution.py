"""Distribution of the pods over the nodes (second paper, section 5.2.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from statistics import fmean, pstdev

from stowage_testbed.amounts.resources import PODS
from stowage_testbed.metrics.metric import Better, Metric
from stowage_testbed.metrics.packing import count_pods_per_node, sum_requested_per_node
from stowage_testbed.metrics.record import RunRecord, find_state_at_end

TOP = 5
"""The paper prints its five fullest nodes."""


def measure_distribution(record: RunRecord) -> Iterator[Metric]:
    """Yield spread, Jain's index and top-5 skew at the window's end.

    Jain's index of a resource is over the requested amounts of the nodes that have it, as in the paper; between unequal
    nodes that is not the same as over their utilisation.
    """
    state = find_state_at_end(record)
    pods = list(count_pods_per_node(state).values())
    n, nothing = len(record.nodes), "nothing is placed"
    better: Mapping[str, Better] = {"std": "lower", "cv": "lower"}
    for what, value in compute_spread(pods).items():
        unit, note = "ratio" if what == "cv" else "pods", nothing if value is None else ""
        yield Metric(f"pods_per_node_{what}", value, unit, better.get(what, "neither"), n, note=note)
    requested = sum_requested_per_node(state)
    unequal = len({node.resources.without(PODS) for node in record.nodes}) > 1
    loads = {"pods": pods} | {
        name: [requested[node.name][name] for node in record.nodes if node.resources[name]] for name in state.resources
    }
    for name, amounts in loads.items():
        index = jain_index(amounts)
        note = "of amounts, and the nodes are unequal" if unequal and name != "pods" else ""
        note = nothing if index is None else note
        yield Metric(
            f"jain_{name}", None if index is None else float(index), "index", "higher", len(amounts), note=note
        )
    share = compute_top_share(pods, TOP)
    note = f"needs more than {TOP} nodes and a pod" if share is None else ""
    yield Metric("top5_share_pods", None if share is None else float(share), "ratio", "lower", n, note=note)


def compute_spread(loads: Sequence[int]) -> dict[str, float | None]:
    """Return least, most, mean, standard deviation and coefficient of variation.

    The deviation is that of the whole population: there are no other nodes. ``None``
    is what cannot be said without a node, or without a load.
    """
    if not loads:
        return dict.fromkeys(("min", "max", "mean", "std", "cv"))
    mean, std = fmean(loads), pstdev(loads)
    return {"min": min(loads), "max": max(loads), "mean": mean, "std": std, "cv": std / mean if mean else None}


def compute_top_share(loads: Sequence[int], count: int) -> Fraction | None:
    """Return what share of the load lies on the ``count`` fullest nodes.

    ``None`` where that is no finding: there are no more nodes, or there is no load.
    """
    if len(loads) <= count or not any(loads):
        return None
    return Fraction(sum(sorted(loads, reverse=True)[:count]), sum(loads))


def jain_index(loads: Sequence[int]) -> Fraction | None:
    """Return (sum of x)^2 / (n * sum of x^2): from 1/n (all on one) to 1 (all equal).

    R. Jain, D. Chiu, W. Hawe, "A Quantitative Measure of Fairness and Discrimination
    for Resource Allocation in Shared Computer Systems", DEC-TR-301, 1984, section 4.
    ``None`` where nothing is loaded: there is nothing to share.
    """
    squares = sum(load * load for load in loads)
    return Fraction(sum(loads) ** 2, len(loads) * squares) if squares else None
