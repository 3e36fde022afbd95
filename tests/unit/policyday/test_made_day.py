"""A made day, as a trace."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from stowage_testbed.policyday.day import Day, make_day
from stowage_testbed.trace.format import (
    NodeSeen,
    ObjectSeen,
    PodCame,
    PodEnded,
    Scaled,
)
from stowage_testbed.trace.reading import Trace, read_trace
from stowage_testbed.trace.writing import TraceWriter

DAY = Day(seed=3, nodes=12)


def count_pods(day: Trace, until_s: float) -> Counter[str]:
    """Return how many pods each Deployment has at a time."""
    there: Counter[str] = Counter()
    for line in day.lines:
        if isinstance(line, PodCame | PodEnded) and line.t <= until_s:
            workload, _, _ = line.name.rpartition("-")
            there[workload] += 1 if isinstance(line, PodCame) else -1
    return Counter({name: n for name, n in there.items() if name.startswith("web-")})


def test_the_same_seed_makes_the_same_day() -> None:
    """Arms are compared on one world, and a figure must come again."""
    assert make_day(DAY) == make_day(DAY)
    assert make_day(DAY) != make_day(Day(seed=4, nodes=12))


def test_a_made_day_can_be_written_and_read(tmp_path: Path) -> None:
    """So that stowage simulate --trace and stowage run --trace take it as well."""
    day, file = make_day(DAY), tmp_path / "day.jsonl"
    with TraceWriter(file, day.header) as writer:
        for line in day.lines:
            writer.write(line)

    read = read_trace(file)

    assert not read.remark
    assert read.lines == day.lines


def test_deployments_have_more_pods_by_day_than_by_night() -> None:
    """Else nothing becomes empty that a policy could free."""
    day = make_day(DAY)

    night, noon = (count_pods(day, hours * 3600).total() for hours in (1, 12.5))

    assert noon > 2 * night


def test_a_deployment_has_as_many_pods_as_it_was_scaled_to() -> None:
    """A replay on a live cluster goes by these numbers, virtual time by the pods."""
    day = make_day(DAY)
    scaled = {
        line.name: line.replicas for line in day.lines if isinstance(line, Scaled)
    }

    there = count_pods(day, DAY.hours * 3600)

    assert scaled
    assert {name: there[name] for name in scaled} == scaled


def test_nodes_have_prices_and_some_workloads_budgets() -> None:
    """Without them money and broken budgets would be nothing on any arm."""
    day = make_day(DAY)
    nodes = [line.node for line in day.lines if isinstance(line, NodeSeen)]
    kinds = Counter(
        line.object["kind"] for line in day.lines if isinstance(line, ObjectSeen)
    )

    assert {node.labels["stowage.dev/hourly-price"] for node in nodes} > {
        "0.17",
        "0.68",
    }
    assert 0 < kinds["PodDisruptionBudget"] < kinds["Deployment"]
