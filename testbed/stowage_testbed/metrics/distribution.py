"""Distribution of the pods over the nodes (second paper, section 5.2.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stowage_testbed.metrics.jain import jain_index
from stowage_testbed.metrics.metric import Better, Metric
from stowage_testbed.metrics.packing import pods_per_node, requested_per_node
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.metrics.record_state import state_at_end
from stowage_testbed.metrics.resource import RESOURCES
from stowage_testbed.metrics.spread import Spread, spread, top_share

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
