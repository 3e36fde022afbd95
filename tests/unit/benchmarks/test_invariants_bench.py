"""The large run that the invariants are measured on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from benchmarks.invariants.benchmark import (
    SMOKE,
    Cost,
    invariant_figures,
    run_benchmark,
)
from benchmarks.invariants.generated_run import GeneratedRun, Size
from stowage_testbed.invariants import check
from stowage_testbed.invariants.settled import COUNTED
from stowage_testbed.run.invariant_checks import WATCHED

SMALL = Size(nodes=10, pods=100, plans=2, moves=20)


def test_a_generated_run_has_all_that_the_rules_look_at(tmp_path: Path) -> None:
    """What is not in it costs nothing, and the figure would be too good."""
    history = GeneratedRun(SMALL, tmp_path).history()

    kinds = {change.kind for change in history.changes}
    assert kinds == {"Pod", "Node", *(one.kind for one in WATCHED)} - {COUNTED[1]}
    assert len(history.pods()) == 100
    assert len(history.evictions) == 40
    assert all(pod.node and pod.ready for pod in history.pods().values())
    assert check(history) == []


def test_the_rules_do_look_at_a_generated_run(tmp_path: Path) -> None:
    """One eviction that is taken from the log, and one budget that demands too much."""
    history = GeneratedRun(SMALL, tmp_path).history()
    unplanned = replace(
        history,
        changes=tuple(one for one in history.changes if one.kind != "PackingPlan"),
    )
    doubled = replace(history, audit=(*history.audit, *history.audit))

    assert {one.rule for one in check(unplanned)} == {"planned-eviction"}
    assert "evicted-once" in {one.rule for one in check(doubled)}


def test_a_figure_that_falls_short_is_reported(tmp_path: Path) -> None:
    """Also where the rules find what is not there."""
    slow = Cost(
        changes=1,
        entries=1,
        evictions=1,
        violations=1,
        check_s=61,
        peak_bytes=3 * 10**9,
    )

    assert [one.met for one in invariant_figures(SMALL, [slow])] == [False] * 3


def test_it_is_measured_in_a_process_of_its_own(tmp_path: Path) -> None:
    """The memory of whoever asks is no part of the figure."""
    said: list[str] = []
    run_benchmark(SMOKE, 1, tmp_path, said.append)
    content = json.loads((tmp_path / "bench-invariants.json").read_text())

    assert len(said) == 1
    assert [one["met"] for one in content["figures"]] == [True] * 3
