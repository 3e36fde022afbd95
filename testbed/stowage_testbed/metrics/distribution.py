"""Distribution of the pods over the nodes (second paper, section 5.2.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import fmean, pstdev

from stowage_testbed.metrics.metric import Better, Metric
from stowage_testbed.metrics.packing import pods_per_node, requested_per_node
from stowage_testbed.metrics.record import RunRecord, state_at_end
from stowage_testbed.metrics.state import RESOURCES

TOP = 5
"""The paper prints its five fullest nodes."""


def distribution_metrics(record: RunRecord) -> Iterator[Metric]:
    """Yield spread, Jain's index and top-5 skew at the window's end.

    Jain's index of a resource is over the requested amounts, as in the paper; between
    unequal nodes that is not the same as over their utilisation.
    """
    state = state_at_end(record)
    pods = list(pods_per_node(state).values())
    n = len(record.nodes)
    yield from _spread_metrics(spread(pods), n)
    yield _jain("pods", pods, "")
    for resource in RESOURCES:
        loads = list(requested_per_node(state, resource).values())
        yield _jain(resource, loads, _unequal(record))
    share = top_share(pods, TOP)
    yield Metric(
        "top5_share_pods",
        None if share is None else float(share),
        "ratio",
        "lower",
        n,
        note=f"needs more than {TOP} nodes and a pod" if share is None else "",
    )


def _spread_metrics(found: Spread | None, n: int) -> Iterator[Metric]:
    better: Mapping[str, Better] = {"std": "lower", "cv": "lower"}
    values: Mapping[str, float | None] = {
        "min": found.minimum if found else None,
        "max": found.maximum if found else None,
        "mean": found.mean if found else None,
        "std": found.std if found else None,
        "cv": found.cv if found else None,
    }
    for what, value in values.items():
        yield Metric(
            f"pods_per_node_{what}",
            value,
            "ratio" if what == "cv" else "pods",
            better.get(what, "neither"),
            n,
            note="nothing is placed" if value is None else "",
        )


def _jain(of: str, loads: list[int], note: str) -> Metric:
    index = jain_index(loads)
    return Metric(
        f"jain_{of}",
        None if index is None else float(index),
        "index",
        "higher",
        len(loads),
        note="nothing is placed" if index is None else note,
    )


def _unequal(record: RunRecord) -> str:
    kinds = {(node.cpu_milli, node.memory_bytes) for node in record.nodes}
    return "of amounts, and the nodes are unequal" if len(kinds) > 1 else ""


@dataclass(frozen=True, slots=True)
class Spread:
    """Summary of the loads of all nodes.

    Attributes
    ----------
    std
        Of the nodes as the whole population, not as a sample of one: there are no
        others.
    """

    minimum: int
    maximum: int
    mean: float
    std: float

    @property
    def cv(self) -> float | None:
        """The coefficient of variation; ``None`` where nothing is loaded."""
        return self.std / self.mean if self.mean else None


def spread(loads: Sequence[int]) -> Spread | None:
    """Return the summary of the loads; ``None`` without any node."""
    if not loads:
        return None
    return Spread(min(loads), max(loads), fmean(loads), pstdev(loads))


def top_share(loads: Sequence[int], count: int) -> Fraction | None:
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
