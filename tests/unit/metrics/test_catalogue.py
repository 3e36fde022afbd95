"""The metrics of runs, against numbers worked out by hand."""

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml
from amounts import size, taken
from run_records import a_node, a_record, by_name, pod_on

from stowage_testbed.metrics.catalogue import metrics_of
from stowage_testbed.metrics.inversions import measure_inversions
from stowage_testbed.metrics.latency import percentile
from stowage_testbed.metrics.record import GangRecord, Metric, PodRecord, RunRecord, read_record, write_record
from stowage_testbed.metrics.state import (
    ClusterState,
    NodeState,
    PodState,
    compute_utilisation,
    count_pending_by_workload,
    count_placed_by_priority,
    count_pods_per_node,
    hash_placement,
    is_not_worse,
    list_groups,
    list_placements,
)

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
    gangs = tuple(GangRecord(name, min_count) for name, min_count in case.get("gangs", {}).items())
    return a_record(pods_of(case.get("pods", ())), nodes=nodes, gangs=gangs, **case.get("run", {}))


@pytest.mark.parametrize("what", WORKED_OUT["runs"])
def test_metrics_are_those_that_are_worked_out_by_hand(what: str) -> None:
    """Whoever compares two runs compares these, as far as they can be trusted."""
    case = WORKED_OUT["runs"][what]
    record, values = run_of(case), case.get("values", {})
    # A list from the API is sorted by name, which means nothing.
    turned = by_name(replace(record, pods=record.pods[::-1], nodes=record.nodes[::-1]))
    found = by_name(record)

    assert {name: found[name].value for name in values} == pytest.approx(values)
    assert {name: one.value for name, one in turned.items()} == pytest.approx(
        {name: one.value for name, one in found.items()}
    )
    for whole in case.get("whole", ()):
        assert found[whole["name"]] == Metric(**whole)


@pytest.mark.parametrize("case", WORKED_OUT["inversions"])
def test_an_inversion_is_a_pod_before_a_more_important_one_that_fitted(case: dict[str, Any]) -> None:
    """Whether the other is bound later or never, if it could have had the place."""
    low = pod_on("a", created=1.0, bound=5.0, priority=1)
    pods, node = [low, *pods_of(case["others"])], a_node("a", **case.get("node", {}))
    record = a_record(pods, nodes=[node, a_node("b")], resolution_s=0.01)

    assert next(measure_inversions(record)).value == case["pairs"]


def test_every_record_has_the_same_metrics_in_the_same_order() -> None:
    """Rows of two runs are put side by side by their place, and carry their unit."""
    empty, full = a_record(nodes=[], window_s=0.0), a_record([pod_on("a", bound=1.0)])
    units = {"pods/s": "_pods_per_s", "ratio": "", "index": ""}

    assert [m.name for m in metrics_of(empty)] == [m.name for m in metrics_of(full)]
    for metric in metrics_of(full):
        if not metric.name.startswith("pods_per_node"):
            assert metric.name.endswith(units.get(metric.unit, f"_{metric.unit}"))


def test_a_run_without_gangs_has_no_metrics_of_gangs() -> None:
    """Four rows without a value would stand in every comparison."""
    plain, gangs = a_record([pod_on("a")]), a_record([pod_on("a", group="g")], gangs=(GangRecord("g", 1),))
    names = [metric.name for metric in metrics_of(plain)]

    assert [metric.name for metric in metrics_of(gangs)] == [
        *names, "placed_gangs", "half_placed_s", "time_to_gang_mean_s", "time_to_gang_p99_s",
    ]  # fmt: skip


def test_a_run_that_failed_has_no_values() -> None:
    """Half of a burst must not win a comparison of throughput."""
    record = a_record([pod_on("a", created=0.0, bound=1.0)], error="two pods are lost")

    assert {(metric.value, metric.note) for metric in metrics_of(record)} == {
        (None, "the run failed: two pods are lost")
    }


def test_a_record_survives_its_own_document() -> None:
    """Tables are made again from bundles, without a cluster."""
    record = a_record([pod_on("a", created=0.5, bound=1.0)], cpu_s=1.5, warm=True, gangs=(GangRecord("g", 2),))

    assert read_record(write_record(record)) == record


GB = 10**9


def figure_1(third: str | None = None) -> ClusterState:
    """Return Figure 1 of the paper; the third pod is pending unless it has a node."""
    second = "b" if third is None else "a"
    return ClusterState(
        nodes=(NodeState("a", size(4000, 4 * GB)), NodeState("b", size(4000, 4 * GB))),
        pods=(
            PodState("first", "a", taken(100, 2 * GB), priority=1),
            PodState("second", second, taken(100, 2 * GB), priority=1),
            PodState("third", third, taken(100, 3 * GB), priority=2),
        ),
    )


def test_utilisation_counts_the_requests_of_bound_pods_only() -> None:
    """Figure 1: 4 of 8 GB before, 7 of 8 GB after; no nodes divide by nothing."""
    before, none = Fraction(1, 2), Fraction(0)

    assert compute_utilisation(figure_1()) == {"cpu": Fraction(1, 40), "memory": before}
    assert compute_utilisation(figure_1("b"))["memory"] == Fraction(7, 8)
    assert compute_utilisation(ClusterState((), ())) == {"cpu": none, "memory": none}


def test_placements_are_counted_by_what_an_author_knows() -> None:
    """Names of pods are random, and nodes that are equal may be exchanged."""
    before, after = figure_1(), figure_1("b")

    # A priority that got nothing is the thing to see.
    assert list(count_placed_by_priority(before).items()) == [(2, 0), (1, 2)]
    assert count_pods_per_node(before) == {"a": 1, "b": 1}
    assert count_pods_per_node(replace(before, pods=())) == {"a": 0, "b": 0}
    assert count_pending_by_workload(before) == {"third": 1}
    assert count_pending_by_workload(after) == {}
    assert list_groups(after) == (("first", "second"), ("third",))
    assert list_placements(after) == {
        "first": ("a",), "second": ("a",), "third": ("b",),
    }  # fmt: skip


def test_the_placement_hash_is_a_known_value() -> None:
    """Bundles are compared by it: it is sha256sum of the three lines, for ever.

    Two runs give ReplicaSet pods other names and list them in another order.
    """
    before = figure_1()
    others = tuple(replace(pod, name="x") for pod in reversed(before.pods))

    assert hash_placement(before) == ("02964a7ac652ea9e851bd96df5843dac2db01614041cc9c14b12ba9a78528a3f")
    assert hash_placement(replace(before, pods=others)) == hash_placement(before)
    assert hash_placement(before) != hash_placement(figure_1("b"))


def test_percentiles_are_nearest_rank() -> None:
    """It is a sample that occurred, never a mean of two, and refused of too few."""

    def found(rank: float, n: int) -> float | str | None:
        value, reason = percentile([float(n) for n in range(n, 0, -1)], rank)
        return reason or value

    ranks = (0, 50, 50.5, 90, 95, 99)
    assert [found(rank, 100) for rank in ranks] == [1, 50, 51, 90, 95, 99]
    assert found(95, 20) == 19
    # It would be the maximum, which says nothing of the tail.
    assert found(99, 99) == "p99 needs n >= 100, got 99"
    assert found(95, 19) == "p95 needs n >= 20, got 19"
    assert found(50, 0) == "p50 needs n >= 2, got 0"
    with pytest.raises(ValueError, match="not including, 100"):
        percentile([1.0], 100)


def test_the_highest_priority_that_differs_decides() -> None:
    """The order of Algorithm 1's tiers, not the sum of pods."""
    before = {2: 1, 1: 3}

    for better in ({2: 2, 1: 0}, before):
        assert is_not_worse(before, better)
    assert is_not_worse({-1: 1}, {0: 1})
    assert not is_not_worse(before, {2: 1, 1: 2})
    assert not is_not_worse({2: 1}, {1: 5})
