"""Upstream's harness as the judge: which cases, which sizes, what the ratios say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.upstream.building import MODULE
from benchmarks.upstream.cases import CHOSEN, Case, read_cases
from benchmarks.upstream.figures import SMALL, Pace, upstream_figures
from benchmarks.upstream.harness import BENCHMARK, Outcome
from benchmarks.upstream.profiles import PROFILES, STOCK, choose_profiles
from stowage_testbed.base.errors import InputError
from stowage_testbed.text.figure import Figure
from stowage_testbed.toolchain.manifest import load_manifest

BY_NAME = {one.name: one for one in PROFILES}
BASIC = Case(
    "misc",
    {
        "name": "SchedulingBasic",
        "workloadTemplate": [{"opcode": "createNodes", "countParam": "$initNodes"}],
        "workloads": [
            {"name": "5", "labels": ["integration-test"], "params": {"initNodes": 5}},
            {"name": "500", "params": {"initNodes": 500}},
            {"name": "5000", "labels": ["performance"], "params": {"initNodes": 5000},
             "threshold": 680, "featureGates": {"SchedulerAsyncAPICalls": True}},
        ],
    },
)  # fmt: skip


def paces(profile: str, *rates: float, case: str = "SchedulingBasic") -> list[Pace]:
    return [
        Pace(case, "1,000 nodes", profile, number, rate, passed=True)
        for number, rate in enumerate(rates)
    ]


def figures_of(*measured: Pace) -> dict[str, Figure]:
    return {one.name: one for one in upstream_figures(measured)}


def test_ratios_are_made_round_by_round_with_an_interval() -> None:
    """A machine that gets slower would otherwise make a ratio of its own."""
    found = figures_of(
        *paces("default", 1000, 500, 250), *paces("registered", 1000, 505, 249)
    )
    ratio = found["SchedulingBasic, 1,000 nodes: registered over stock"]

    assert ratio.value == pytest.approx(1.002, abs=0.001)
    low, high = ratio.spread
    assert 0.97 < low < 1 < high < 1.05
    assert ratio.met is True


def test_a_target_is_missed_only_where_the_rounds_show_it() -> None:
    """On a busy machine the mean of three rounds says little by itself."""
    noisy = figures_of(
        *paces("default", 100, 100, 100), *paces("registered", 80, 130, 75)
    )
    slow = figures_of(
        *paces("default", 100, 100, 100), *paces("registered", 90, 91, 89)
    )
    name = "SchedulingBasic, 1,000 nodes: registered over stock"

    assert noisy[name].met is None
    assert "cannot tell" in noisy[name].note
    assert slow[name].met is False


def test_all_cases_together_tell_what_the_rounds_of_one_cannot() -> None:
    """Three rounds of a case scatter by a tenth, and the promise is a thirtieth."""
    cases = ("A", "B", "C", "D")
    found = figures_of(
        *(one for case in cases for one in paces("default", 100, 100, case=case)),
        *(one for case in cases for one in paces("registered", 98, 103, case=case)),
        Pace("E", "1,000 nodes", "registered", 0, 50.0, passed=True),
    )

    together = found["all cases, 1,000 nodes: registered over stock"]
    assert (together.runs, together.met) == (8, True)
    assert found["A, 1,000 nodes: registered over stock"].met is None


def test_what_fails_with_stock_as_well_is_not_held_against_a_profile() -> None:
    """Upstream's tests are not all steady."""

    def passing(profile: str, case: str, *, passed: bool) -> Pace:
        return Pace(case, SMALL, profile, 0, None, passed)

    found = figures_of(
        passing("default", "A", passed=True), passing("default", "B", passed=False),
        passing("registered", "A", passed=True),
        passing("registered", "B", passed=False),
        passing("score-cache", "A", passed=False),
    )  # fmt: skip

    assert found["registered: cases that fail, of those that stock passes"].met is True
    assert found["score-cache: cases that fail, of those that stock passes"].note == "A"


def test_a_case_is_upstreams_but_for_its_size_and_its_scheduler() -> None:
    """A workload of our own would be no judge."""
    made = BASIC.document(
        BASIC.largest(), {"initNodes": 1000}, {"Gate": False}, Path("/p/profile.yaml")
    )

    assert made["workloadTemplate"] == BASIC.content["workloadTemplate"]
    assert made["schedulerConfigPath"] == "/p/profile.yaml"
    assert made["workloads"] == [
        {
            "name": CHOSEN, "labels": [CHOSEN], "params": {"initNodes": 1000},
            "featureGates": {"SchedulerAsyncAPICalls": True, "Gate": False},
        }
    ]  # fmt: skip


def test_what_is_left_out_says_why() -> None:
    """A table that leaves cases out silently claims more than it shows."""
    gang = Case("podgroup", {"name": "Gang", "featureGates": {"GenericWorkload": True}})
    own = Case("batching", {"name": "Own", "schedulerConfigPath": "own.yaml"})
    waits = Case("default_preemption", {"name": "PreemptionBasic"})

    assert "GenericWorkload" in gang.left_out(STOCK)
    assert not own.left_out(BY_NAME["registered"])
    assert "configuration" in own.left_out(BY_NAME["score-cache"])
    assert not waits.left_out(BY_NAME["score-cache"])
    assert "preemption" in waits.left_out(BY_NAME["deterministic"])
    assert not BASIC.left_out(BY_NAME["optimizer"])


def test_cases_are_read_from_every_folder_of_the_harness(tmp_path: Path) -> None:
    """Upstream adds topics with every minor."""
    for topic in ("misc", "dra/scoring"):
        file = tmp_path / topic / "performance-config.yaml"
        file.parent.mkdir(parents=True)
        file.write_text(f"- name: {file.parent.name}\n", encoding="utf-8")

    found = [(one.topic, one.name) for one in read_cases(tmp_path)]

    assert found == [("dra/scoring", "scoring"), ("misc", "misc")]


def test_the_pace_of_a_case_is_its_own() -> None:
    """A process runs all cases of a topic, and some names begin like others."""
    items = tuple(
        {
            "labels": {"Metric": metric, "Name": f"{BENCHMARK}/{case}/{CHOSEN}/n"},
            "data": {"Average": rate},
        }
        for case, metric, rate in (
            ("Basic", "SchedulingThroughput", 1.0),
            ("BasicMore", "SchedulingThroughput", 2.0),
            ("Basic", "scheduler_pod_scheduling_duration_seconds", 3.0),
        )
    )  # fmt: skip

    outcome = Outcome(frozenset({"Basic"}), items, "")

    assert outcome.pods_s("Basic") == 1.0
    assert outcome.pods_s("None") is None


def test_the_optimizer_is_told_the_socket_of_the_one_that_runs(tmp_path: Path) -> None:
    """A profile that asks nobody measures no plans."""
    file = BY_NAME["optimizer"].configuration(tmp_path, lambda: Path("/run/it.sock"))

    assert file is not None
    assert "socket: /run/it.sock" in file.read_text(encoding="utf-8")
    assert STOCK.configuration(tmp_path, Path) is None


def test_stock_is_always_measured_beside_a_profile() -> None:
    """Without it there is nothing to compare with."""
    assert [one.name for one in choose_profiles(["score-cache"])] == [
        "default", "score-cache",
    ]  # fmt: skip
    with pytest.raises(InputError, match="there is no profile 'cache'"):
        choose_profiles(["cache"])


def test_the_judge_is_of_the_version_that_the_scheduler_is_built_for() -> None:
    """Upstream's harness of another version would judge another scheduler."""
    version = next(iter(load_manifest().minors.values())).kubernetes
    required = re.findall(
        r"^\tk8s.io/kubernetes (\S+)$", (MODULE / "go.mod").read_text(), re.M
    )

    assert required == [version]
