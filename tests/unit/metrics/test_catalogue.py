"""The metrics of runs, against numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml
from amounts import taken
from run_records import GB, a_node, a_record, by_name, pod_on

from stowage_testbed.metrics.catalogue import metrics_of
from stowage_testbed.metrics.distribution import jain_index
from stowage_testbed.metrics.fragmentation import (
    compute_fragmentation,
    find_free_room,
    find_largest_fit,
)
from stowage_testbed.metrics.inversions import count_inversions
from stowage_testbed.metrics.metric import Metric
from stowage_testbed.metrics.over_time import StepLine, count_waiting
from stowage_testbed.metrics.record import (
    PodRecord,
    RunRecord,
    read_record,
    write_record,
)

WORKED_OUT = yaml.safe_load(
    Path(__file__).with_name("worked_out.yaml").read_text("utf-8")
)
TWO_NODES = [{"name": "a"}, {"name": "b"}]
SMALL, LARGE = taken(500, GB), taken(2000, 2 * GB)


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
def test_an_inversion_is_a_pod_before_a_more_important_one_that_fitted(
    case: dict[str, Any],
) -> None:
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


@pytest.mark.parametrize(
    "record", [a_record(), a_record(nodes=[]), a_record([pod_on(created=1.0)])]
)
def test_what_has_no_value_says_why(record: RunRecord) -> None:
    """A gap in a table without a reason is taken for a fault of the table."""
    assert [m for m in metrics_of(record) if m.value is None and not m.note] == []


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


def test_jain_of_known_loads() -> None:
    """(1+2+3)^2 / (3 * 14) = 6/7; all on one of four is 1/4."""
    assert jain_index([1, 2, 3]) == Fraction(6, 7)
    assert jain_index([0, 0, 9, 0]) == Fraction(1, 4)


def test_waiting_pods_are_counted_from_creation_to_binding() -> None:
    """Three pods for 1, 2 and 1 seconds, the last of them without a node to the end."""
    spans = [pod_on("a", created=0.0, bound=1.0), pod_on("a", created=0.5, bound=2.5)]
    line = count_waiting(a_record([*spans, pod_on(created=3.0)], window_s=4.0))

    assert line == StepLine((0.0, 0.5, 1.0, 2.5, 3.0, 4.0), (1, 2, 1, 0, 1, 0))
    assert (line.mean(4.0), line.peak) == (1.0, 2)


def test_free_room_is_what_bound_pods_leave() -> None:
    """Overcommitted is no negative room: nothing fits, and nothing is owed."""
    record = a_record(
        [pod_on("a", cpu=4500), pod_on("b", gone=1.0), pod_on("b", cpu=1000)]
    )

    room = find_free_room(record)
    assert {name: list(amounts) for name, amounts in room.free.items()} == {
        "cpu": [0, 3000], "memory": [3 * GB, 3 * GB], "pods": [109, 109],
    }  # fmt: skip


def test_fragmented_is_what_the_next_pod_cannot_use() -> None:
    """Free are 1 core and 4 GB on a, 3 cores and 3 GB on b; one pod in four is large.

    The large one fits only b: it cannot use a's core of the 4 that are free.
    """
    pods = [pod_on("a", cpu=3000, memory=0), pod_on("b", cpu=1000, memory=GB)]
    room, weights = find_free_room(a_record(pods)), {SMALL: 3, LARGE: 1}

    assert compute_fragmentation(room, weights, "cpu") == Fraction(1, 4 * 4)
    assert compute_fragmentation(room, weights, "memory") == Fraction(4, 4 * 7)
    assert find_largest_fit(room, [SMALL, LARGE]) == LARGE
    assert find_largest_fit(room, [SMALL, taken(3500, GB)]) == SMALL
    assert find_largest_fit(room, [taken(3500, GB)]) is None
    # Of 8 cores and 8 GB, 3 GB are more than 2 cores.
    more = taken(1000, 3 * GB)
    assert find_largest_fit(find_free_room(a_record()), [LARGE, more]) == more
