"""The metrics of runs, against numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from run_records import a_node, a_record, by_name, pod_on

from stowage_testbed.metrics.catalogue import metrics_of
from stowage_testbed.metrics.inversions import count_inversions
from stowage_testbed.metrics.metric import Metric
from stowage_testbed.metrics.record import PodRecord, RunRecord, read_record, write_record

WORKED_OUT = yaml.safe_load(Path(__file__).with_name("worked_out.yaml").read_text("utf-8"))
TWO_NODES = [{"name": "a"}, {"name": "b"}]


def pods_of(rows: Iterable[dict[str, Any]]) -> Iterable[PodRecord]:
    """Yield the pods of rows, of which some stand for many."""
    for row in rows:
        more = dict(row)
        every = more.pop("bound_every", None)
        watched = more.pop("watch_t_sched_s", None)
        for number in range(1, more.pop("times", 1) + 1):
            bound = {"bound": number * every} if every else {}
            yield replace(pod_on(**more, **bound), watch_t_sched_s=watched)


def run_of(case: dict[str, Any]) -> RunRecord:
    nodes = [a_node(**one) for one in case.get("nodes", TWO_NODES)]
    return a_record(pods_of(case.get("pods", ())), nodes=nodes, **case.get("run", {}))


@pytest.mark.parametrize("what", WORKED_OUT["runs"])
def test_metrics_are_those_that_are_worked_out_by_hand(what: str) -> None:
    """Whoever compares two runs compares these, as far as they can be trusted."""
    case = WORKED_OUT["runs"][what]
    found, values = by_name(run_of(case)), case.get("values", {})

    assert {name: found[name].value for name in values} == pytest.approx(values)
    for whole in case.get("whole", ()):
        assert found[whole["name"]] == Metric(**whole)


@pytest.mark.parametrize("case", WORKED_OUT["inversions"])
def test_an_inversion_is_a_pod_before_a_more_important_one_that_fitted(case: dict[str, Any]) -> None:
    """Whether the other is bound later or never, if it could have had the place."""
    low = pod_on("a", created=1.0, bound=5.0, priority=1)
    pods, node = [low, *pods_of(case["others"])], a_node("a", **case.get("node", {}))
    record = a_record(pods, nodes=[node, a_node("b")], resolution_s=0.01)

    assert count_inversions(record).pairs == case["pairs"]


def test_every_record_has_the_same_metrics_in_the_same_order() -> None:
    """Rows of two runs are put side by side by their place, and carry their unit."""
    empty, full = a_record(nodes=[], window_s=0.0), a_record([pod_on("a", bound=1.0)])
    units = {"pods/s": "_pods_per_s", "ratio": "", "index": ""}

    assert [m.name for m in metrics_of(empty)] == [m.name for m in metrics_of(full)]
    for metric in metrics_of(full):
        if not metric.name.startswith("pods_per_node"):
            assert metric.name.endswith(units.get(metric.unit, f"_{metric.unit}"))


def test_a_run_that_failed_has_no_values() -> None:
    """Half of a burst must not win a comparison of throughput."""
    record = a_record([pod_on("a", created=0.0, bound=1.0)], error="two pods are lost")

    assert {(metric.value, metric.note) for metric in metrics_of(record)} == {
        (None, "the run failed: two pods are lost")
    }


def test_a_record_survives_its_own_document() -> None:
    """Tables are made again from bundles, without a cluster."""
    record = a_record([pod_on("a", created=0.5, bound=1.0)], cpu_s=1.5, warm=True)

    assert read_record(write_record(record)) == record
