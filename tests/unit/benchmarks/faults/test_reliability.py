"""From tries to figures, and the journal in between."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import cast, get_args

import pytest

from benchmarks.faults.benchmark import write_results
from benchmarks.faults.cluster import FaultCluster
from benchmarks.faults.figures import (
    TRIES_OF_OTHERS,
    churn_curve,
    reliability_figures,
)
from benchmarks.faults.kinds import KINDS
from benchmarks.faults.session import Suite, trial_journal
from benchmarks.faults.settings import FaultName, load_faults, read_faults
from benchmarks.faults.trial import Trial
from benchmarks.faults.workloads import CHURN_RATE
from stowage_testbed.base.errors import InputError
from stowage_testbed.text.figure import Figure

GOOD = Trial("faults/x", "kill-optimizer", 1, 1, 1.0, struck=True, held_s=1.4)


def figures(*trials: Trial) -> dict[str, Figure]:
    return {one.name: one for one in reliability_figures(trials)}


def test_the_longest_hold_counts_from_the_limit() -> None:
    """A new pod may wait for as long as the solve, and a second more."""
    found = figures(GOOD, replace(GOOD, held_s=2.5))
    hold = found["optimiser killed: longest hold of a new pod beyond the limit"]

    assert (hold.value, hold.met, hold.runs) == (1.5, False, 2)


def test_a_try_whose_moment_never_came_is_none() -> None:
    """It says nothing about the fault."""
    found = figures(GOOD, replace(GOOD, struck=False, violations=("lost-pod: p",)))

    assert found["optimiser killed: tries"].value == 1
    assert found["optimiser killed: violations"].value == 0


def test_violations_are_counted_by_their_rule() -> None:
    """Each promise has a figure of its own."""
    bad = replace(
        GOOD,
        fault="kill-scheduler",
        violations=("evicted-once: p: twice", "lost-pod: q", "lost-pod: r"),
    )
    found = figures(bad, replace(bad, violations=()))

    assert found["scheduler killed: violations"].value == 3
    assert found["scheduler killed: evictions issued twice"].value == 1
    assert found["scheduler killed: pods lost"].value == 2
    assert found["scheduler killed: rooms taken from plans"].met
    assert found["scheduler killed: rooms held after a plan"].met


def test_a_second_plan_that_moves_anybody_is_a_failure() -> None:
    """Where the optimum was proved, nothing can be gained."""
    bad = replace(GOOD, second_plan=2)

    assert GOOD.passed
    assert not bad.passed
    assert "second plan" in bad.in_words()
    assert figures(bad)["second plan on an unchanged cluster: moves"].value == 2


def test_plans_fail_more_often_the_faster_the_cluster_changes() -> None:
    """The curve counts plans by the rate that was drawn."""
    slow = replace(GOOD, fault="churn", facts={CHURN_RATE: 10}, phases=("Completed",))
    fast = replace(slow, facts={CHURN_RATE: 11}, phases=("Aborted", "Completed"))
    first, second, *rest = churn_curve([slow, fast])

    assert (first["plans"], first["not_carried_out"]) == (1, 0)
    assert (second["plans"], second["not_carried_out"]) == (2, 1)
    assert not any(band["plans"] for band in rest)


def test_writes_must_have_been_refused_in_every_try() -> None:
    """A fault by which nothing was refused shows nothing."""
    bad = replace(GOOD, fault="refuse-writes", refusals=3)
    found = figures(bad, replace(bad, refusals=0))
    fewest = found["fault refuse-writes: writes refused in a try, fewest"]

    assert (fewest.value, fewest.met) == (0, False)
    assert not any("writes refused" in name for name in figures(GOOD))


def test_what_was_tried_is_not_tried_again(tmp_path: Path) -> None:
    """An hour's work is not lost to a killed process; no cluster is needed for it."""
    journal = trial_journal(tmp_path)
    for trial in (GOOD, replace(GOOD, seed=2), replace(GOOD, scenario="faults/y")):
        journal.add(trial)
    no_cluster = cast("FaultCluster", None)
    suite = Suite(
        no_cluster, journal, seed=1, evidence=tmp_path, say=lambda _: None, tries=1
    )
    (fault,) = read_faults({"x": {"do": "kill-optimizer", "at": "solving"}})

    assert list(suite.tries_of(fault)) == [GOOD]


def test_the_results_show_which_tries_failed(tmp_path: Path) -> None:
    """Whoever reads the file must be able to repeat the try."""
    bad = replace(GOOD, number=7, violations=("lost-pod: p",))

    for trial in (GOOD, bad):
        trial_journal(tmp_path).add(trial)
    table = write_results(tmp_path)
    content = json.loads((tmp_path / "reliability.json").read_text())

    assert [one["number"] for one in content["failed"]] == [7]
    assert content["seeds"] == [1]
    assert "optimiser killed: violations" in table


def test_the_file_may_name_every_fault_and_no_other() -> None:
    """The schema and the program must know the same faults."""
    assert sorted(KINDS) == sorted(get_args(FaultName))


def test_what_is_wrong_with_a_fault_is_said_at_once() -> None:
    """An hour and a half of tries must not end by a misspelt key."""
    wrong = {"do": "churn", "at": "never", "lasts_s": [1], "worlds": "moves"}
    with pytest.raises(InputError) as refused:
        read_faults({"churn": wrong})

    said = str(refused.value).splitlines()
    assert len(said) == 4
    assert all("churn" in line for line in said[1:])


def test_a_fault_that_there_is_not_is_refused() -> None:
    """A misspelt name must not mean that nothing is tried."""
    with pytest.raises(InputError, match="there is no 'nothing-at-all'"):
        load_faults(["nothing-at-all"])


def test_every_fault_is_tried_twenty_times() -> None:
    """Fewer say little of what goes wrong in one try of ten."""
    tries = Counter[str]()
    for fault in load_faults():
        tries[fault.settings.do] += fault.settings.tries

    assert tries.keys() == KINDS.keys()
    assert min(tries.values()) >= TRIES_OF_OTHERS


def test_a_try_in_which_all_went_wrong_is_reported_in_one_line_of_bounded_length() -> (
    None
):
    """A broken scheduler loses every pod, and the line stands in a CI log."""
    bad = replace(GOOD, violations=tuple(f"lost-pod: p{n}" for n in range(5000)))

    assert bad.in_words().endswith("; lost-pod: p9; and 4990 more")
