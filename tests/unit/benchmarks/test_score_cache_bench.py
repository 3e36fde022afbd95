"""The benchmark of the score cache: what it makes of runs, without running any."""

from __future__ import annotations

from pathlib import Path

import yaml

from benchmarks.score_cache.benchmark import (
    ARMS,
    CACHE,
    DEFAULT,
    FULL,
    SMOKE,
    STOCK,
    Outcome,
    outcome_of,
    score_cache_figures,
    turned,
)
from benchmarks.score_cache.workload import Case, Workload
from stowage_testbed.simulate import Measurement, Placements


def outcome(arm: str, number: int, pods_s: float, **other: object) -> Outcome:
    values = {
        "case": "equal, 5000 nodes", "pods_cpu_s": pods_s, "placed": 100, "pending": 0,
        "jain": 1.0, "cv": 0.0, **other,
    }  # fmt: skip
    return Outcome(arm=arm, round_number=number, pods_s=pods_s, **values)  # type: ignore[arg-type]


def figures_of(*outcomes: Outcome) -> dict[str, tuple[float | None, bool | None]]:
    found = score_cache_figures(outcomes)
    return {one.name: (one.value, one.met) for one in found}


def test_ratios_are_made_round_by_round() -> None:
    """A machine that gets slower would otherwise make a ratio of its own."""
    figures = figures_of(
        outcome("stock", 0, 1000), outcome("score-cache", 0, 4000),
        outcome("stock", 1, 100), outcome("score-cache", 1, 400),
        outcome("stock", 2, 10), outcome("score-cache", 2, 20),
    )  # fmt: skip

    assert figures["equal, 5000 nodes: score-cache over stock"] == (4, True)


def test_a_figure_that_falls_short_is_written_as_such() -> None:
    """One round that is less even is enough."""
    figures = figures_of(
        outcome("stock", 0, 1000), outcome("stock", 1, 1000),
        outcome("score-cache", 0, 2000),
        outcome("score-cache", 1, 2000, jain=0.9, placed=99),
    )  # fmt: skip
    case = "equal, 5000 nodes"

    assert figures[f"{case}: score-cache over stock"] == (2, False)
    assert figures[f"{case}: Jain's index beside stock's"][1] is False
    assert figures[f"{case}: pods that only stock places"] == (1, False)


def test_every_arm_goes_first_once() -> None:
    """Whoever runs first finds a machine that has rested."""
    first = [turned(ARMS, number)[0] for number in range(len(ARMS))]

    assert sorted(arm.name for arm in first) == sorted(arm.name for arm in ARMS)
    assert all(len(turned(ARMS, number)) == len(ARMS) for number in range(9))


def test_an_outcome_counts_pods_and_nodes() -> None:
    """Empty nodes count for spread, pending pods do not for speed."""
    case = Case(Workload.EQUAL, nodes=4, pods=8)
    instance = case.instance()
    names = [f"default/pod-{number:05d}" for number in range(8)]
    nodes = dict.fromkeys(names[:6], "node-00000") | dict.fromkeys(names[6:])
    measured = Measurement(pods_s=2.0, cpu_s=1.5, arrived=8)
    found = outcome_of(
        case.name, "stock", 0, instance, Placements("x", nodes, measurement=measured)
    )

    assert (found.placed, found.pending, found.pods_s, found.pods_cpu_s) == (6, 2, 3, 4)
    assert found.jain == 1 / 4


def test_workloads_are_as_alike_as_they_say() -> None:
    """The cache's hits depend on nothing but this."""
    kinds = {}
    for workload in Workload:
        pods = Case(workload, nodes=30, pods=30).instance().pods
        kinds[workload] = len({str(pod["spec"]) for pod in pods})

    assert kinds == {
        Workload.EQUAL: 1, Workload.TWO_KINDS: 2, Workload.TEN_KINDS: 10,
        Workload.UNEQUAL: 30, Workload.SERVICE: 1, Workload.SPREAD: 1,
        Workload.ONE_A_NODE: 1,
    }  # fmt: skip


def test_arms_differ_in_one_thing_each(tmp_path: Path) -> None:
    """Else nobody could say what a difference comes from."""
    assert STOCK.feature_gates == CACHE.feature_gates == ""
    configs = {
        arm.name: yaml.safe_load(arm.config(tmp_path).read_text(encoding="utf-8"))
        for arm in ARMS
    }
    assert configs["stock"] == configs["stock-batching"]
    unspread = configs["unspread-batching"]
    (profile,) = unspread["profiles"]
    (only,) = profile.pop("pluginConfig")
    assert unspread == configs["stock"]
    assert only["args"] == {"defaultingType": "List", "defaultConstraints": []}


def test_every_scope_has_the_size_that_was_asked_for() -> None:
    """Equal pods on 5,000 nodes carry the target."""
    for scope in (DEFAULT, FULL):
        names = [case.name for case in scope.cases()]
        assert "equal, 5000 nodes" in names
        assert scope.rounds >= 3
    assert len(list(SMOKE.cases())) == len(Workload)
