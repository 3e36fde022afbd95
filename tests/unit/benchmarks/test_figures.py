"""What each benchmark makes of its measurements, without making any."""

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from benchmarks.faults.session import reliability_figures, trial_journal, write_results
from benchmarks.faults.trial import Trial
from benchmarks.gangs.figures import Row as GangRow
from benchmarks.gangs.figures import TinyRow, gang_figures, tiny_figures
from benchmarks.gangs.outcome import Outcome
from benchmarks.live.cell import Part, moving
from benchmarks.live.figures import cell_figures
from benchmarks.live.window import PlanRow, Row, Usage, Window
from benchmarks.optimizer.figures import contradictions
from benchmarks.optimizer.measurement import Record, Value
from benchmarks.upstream.benchmark import SMALL, Pace, Sized, UpstreamScope, upstream_figures
from benchmarks.upstream.devices import DEVICE_PROFILES
from benchmarks.upstream.end_to_end import SpecResult, spec_figure
from benchmarks.upstream.gangs import GANG_PROFILES, GATES
from benchmarks.upstream.profiles import PROFILES, STOCK, Case
from stowage_testbed.base.errors import InputError
from stowage_testbed.reproduce.rebuilding import TierRow
from stowage_testbed.text.figure import Figure, at_least, at_most, figure, table


def named(figures: Iterable[Figure]) -> dict[str, Figure]:
    return {one.name: one for one in figures}


def test_a_figure_that_falls_short_or_was_not_measured_says_so() -> None:
    """It is never left out, and nothing measured is not zero."""
    short = figure("proved", "%", [70.0], median, at_least(80, "%"))
    missing = figure("answer", "s", [], median, at_most(1, "s"))

    assert (short.met, short.target) == (False, ">= 80 %")
    assert "NO" in table([short])
    assert (missing.value, missing.met, missing.runs) == (None, None, 0)
    assert missing.note == "not measured"
    # One slow answer of a hundred is no spread, but one of three is.
    few = figure("answer", "s", [1.0, 2.0, 9.0], median)
    many = figure("answer", "s", [1.0] * 50 + [2.0] * 50 + [99.0], median)
    assert (few.spread, many.spread) == ((1.0, 9.0), (1.0, 2.0))


def a_record(
    value: Value,
    *,
    arm: str = "ours paper 1 s",
    case: str = "paper-n4-p4-k1-u95-0",
    refused: tuple[str, ...] = (),
    wall_s: float = 0.5,
    **claims: Any,
) -> Record:
    """Return a record whose tiers all make the same claims."""
    claimed = {
        "upper_bound": 99, "disruption_lower_bound": 0, "optimal": False, **claims,
    }  # fmt: skip
    tiers = tuple(TierRow(0, placed_before=9, placed=placed, disruption=-kept, **claimed) for _, placed, kept in value)
    return Record(
        case=case, arm=arm, optimal=claimed["optimal"], value=value, tiers=tiers,
        refused=refused, wall_s=wall_s, first_plan_s=0.1, solve_s=0.4,
    )  # fmt: skip


OTHER = "rival paper 10 s"
ONE_TIER = ((0, 10, -2),)
TWO_TIERS = ((0, 5, -4), (0, 10, -4))
OPTIMAL: dict[str, Any] = {"optimal": True}
BOUNDS = {"upper_bound": 11, "disruption_lower_bound": 2}
TIGHT = {**OPTIMAL, "upper_bound": 10, "disruption_lower_bound": 2}


@pytest.mark.parametrize(
    ("value", "claims", "better", "found"),
    [
        # In any of the three parts of the objective.
        (ONE_TIER, OPTIMAL, ((0, 11, -2),), "tier 0 optimal"),
        (ONE_TIER, BOUNDS, ((0, 12, -9),), "placed 12"),
        (ONE_TIER, BOUNDS, ((0, 10, 0),), "disrupted 0"),
        # A limit was proved of all that is as good above as what was reached.
        (TWO_TIERS, {"upper_bound": 10}, ((0, 5, -2), (0, 11, -9)), "tier 1 places 10"),
        # The tiers below were proved of another case then: one contradiction.
        (TWO_TIERS, OPTIMAL, ((0, 6, -4), (0, 9, -4)), "tier 0 optimal"),
        # Bounds hold given what the tiers above reached.
        (TWO_TIERS, {"upper_bound": 10}, ((0, 5, -6), (0, 12, -6)), None),
        (ONE_TIER, TIGHT, ((0, 10, -2),), None),
    ],
)
def test_a_claim_is_refuted_by_a_plan_that_is_better_where_it_was_proved(
    value: Any, claims: dict[str, Any], better: Any, found: str | None
) -> None:
    """And by no other: a true certificate stays unchallenged."""
    claim, other = a_record(value, **claims), a_record(better, arm=OTHER)

    contradicted = contradictions([claim, other])

    assert len(contradicted) == (found is not None)
    assert all(str(found) in one for one in contradicted)


def test_only_runs_of_one_question_are_held_against_each_other() -> None:
    """What a strategy refuses is no part of what it claims."""
    claim = a_record(ONE_TIER, **OPTIMAL)
    elsewhere = a_record(((0, 11, 0),), arm=OTHER, case="another")
    narrower = a_record(((0, 11, 0),), arm="third", refused=("class a",))

    assert contradictions([claim, elsewhere, narrower]) == []


def a_gang_row(case: str, plan: Outcome, stock: Outcome | None, **claims: Any) -> GangRow:
    """Return a row of a cluster, on which the plan and stock left so much."""
    record = a_record(((0, 10, 0),), case=case, **claims)
    return GangRow(
        record, nodes=8, plan=plan, stock=stock, stock_s=0.1, proofs=("cp sat",) * record.optimal, violations=(),
        claims=1, refuted=(),
    )  # fmt: skip


def test_gangs_are_compared_from_the_highest_priority_on() -> None:
    """A gang more of a higher priority may take the room of several of a lower one."""
    value = (4, 8, 0), (5, 6, -12)
    stock = Outcome(gang_pods=(8, 6), gangs=(2, 3), pods=(8, 6), value=value, lost=4, left_behind=6, disrupted=7)
    better = replace(
        stock, gang_pods=(9, 0), gangs=(2, 0), value=((4, 9, 0), (5, 0, 0)), lost=2, left_behind=0, disrupted=9
    )
    worse = replace(stock, gang_pods=(8, 5), value=((4, 8, 0), (6, 5, -9)), lost=3)

    found = named(gang_figures([a_gang_row("a", better, stock, **OPTIMAL), a_gang_row("b", worse, stock)]))

    fewer = found["clusters with fewer pods in whole gangs than with stock"]
    assert (fewer.value, fewer.met, fewer.note) == (1, False, "b")
    assert found["clusters with more pods in whole gangs than with stock"].value == 50
    assert found["clusters in which stock does better by the objective of plans"].value == 0
    lowest = found["priority 2 from the top: pods in whole gangs"]
    assert (lowest.value, lowest.note) == (5, "stock: 12")
    victims = found["victims, with the rest of broken gangs: fewer than with stock"]
    assert victims.value == pytest.approx(45)
    assert (victims.met, victims.note) == (False, "11 instead of 20")
    assert found["victims: fewer than with stock"].value == 37.5
    assert found["all tiers proved in 1 s"].value == 50
    assert found["proofs by cp sat"].value == 100
    assert found["bounds with prices that the checker refutes"].runs == 2


def test_a_cluster_with_which_stock_comes_to_no_end_is_compared_with_nothing() -> None:
    """What is proved of the plan counts all the same."""
    plan = Outcome(gang_pods=(8,), gangs=(2,), pods=(8,), value=((4, 8, 0),), lost=4, left_behind=6, disrupted=7)

    found = named(gang_figures([a_gang_row("a", plan, plan), a_gang_row("b", plan, None, **OPTIMAL)]))

    assert found["clusters with which stock comes to no end"].note == "b"
    assert found["clusters with fewer pods in whole gangs than with stock"].runs == 1
    assert found["victims: fewer than with stock"].note.startswith("4 instead of 4")
    assert found["all tiers proved in 1 s"].value == 50


def test_gangs_that_were_not_measured_are_no_success() -> None:
    """Neither victims of nobody nor bounds that nobody claimed meet a target."""
    found = named([*gang_figures([]), *tiny_figures([])])

    assert {one.met for one in found.values()} == {None}


def test_a_tiny_cluster_refutes_claims_that_are_too_high() -> None:
    """Each plan is known there, so that no claim has to be believed."""
    right = TinyRow(a_record(ONE_TIER, case="a", **TIGHT), ONE_TIER)
    wrong = TinyRow(a_record(ONE_TIER, case="b", **OPTIMAL), ((0, 11, -2),))
    short = TinyRow(a_record(ONE_TIER, case="c"), ((0, 11, -2),))

    found = named(tiny_figures([right, wrong, short]))

    best, refuted = found["tiny: plans as good as the best of all"], found["tiny: claims that some plan refutes"]
    assert best.value == pytest.approx(100 / 3)
    assert (refuted.value, refuted.met) == (1, False)
    assert refuted.note.startswith("b: ")


def test_a_live_plan_that_was_never_carried_out_misses_its_target() -> None:
    """A figure that falls short is written as such, with the reason."""
    failed = PlanRow(
        stored_s=2.0, stored_after_last_s=1.5, ready_s=None, unready=7, moved=50,
        placed=50, plans=1, given_up=("Aborted: no room",), left=(),
    )  # fmt: skip
    writes = {"create pods/binding": 100, "patch pods": 50}
    row = Row(0, Window.PLAN, 10.0, ((0.0, 1.0), (1.0, 1.0)), Usage(writes=writes), failed)

    found = named(cell_figures(moving(Part.PENDING, "p", 100, 50), [row]))

    ready = found["p: from the last arrival to all pods Ready"]
    assert (ready.value, ready.met) == (None, False)
    assert "7 pods not ready; 1 Aborted: no room" in ready.note
    assert found["p: API writes an arrival"].value == 1.5


@pytest.mark.parametrize(
    ("rates", "met"),
    [
        (((1000, 500, 250), (1000, 505, 249)), True),
        (((100, 100, 100), (80, 130, 75)), None),
        (((100, 100, 100), (90, 91, 89)), False),
    ],
    ids=["a machine that gets slower", "too noisy to tell", "slower"],
)
def test_upstreams_target_is_missed_only_where_the_rounds_show_it(
    rates: tuple[tuple[float, ...], ...], met: bool | None
) -> None:
    """On a busy machine the mean of three rounds says little by itself."""
    found = named(
        upstream_figures(
            [
                Pace("Basic", "1,000 nodes", profile, number, rate, passed=True)
                for profile, of_profile in zip(("default", "registered"), rates, strict=True)
                for number, rate in enumerate(of_profile)
            ]
        )
    )
    ratio = found["Basic, 1,000 nodes: registered over stock"]

    assert ratio.met is met
    assert ("cannot tell" in ratio.note) == (met is None)
    low, high = ratio.spread
    assert ratio.value is not None
    assert low < ratio.value < high


@pytest.mark.parametrize(("profile", "least"), [("optimizer", 0.97), ("devices", 0.9)])
def test_pods_with_claims_are_to_cost_a_profile_for_them_little(profile: str, least: float) -> None:
    """The profiles look at devices for every pod, and promise how much of stock's pace they keep; others do not."""
    rates = {("default", 0): 100.0, ("default", 1): 110.0, (profile, 0): 100.5 * least, (profile, 1): 110.5 * least}
    paces = [Pace("Claims/half", "n", arm, number, rate, passed=True) for (arm, number), rate in rates.items()]

    found = named(upstream_figures(paces, DEVICE_PROFILES))
    elsewhere = named(upstream_figures(paces))

    ratio = f"Claims/half, n: {profile} over stock"
    assert (found[ratio].target, found[ratio].met) == (f">= {least:g}", True)
    assert elsewhere[ratio].target == ""


CLAIMS = Case(
    "dra",
    {
        "name": "Claims",
        "workloads": [
            {"name": "fast", "labels": ["integration-test"], "params": {"nodesWithDRA": 1}},
            {"name": "half", "params": {"nodesWithDRA": 200}},
        ],
    },
)


def measured(workloads: dict[str, tuple[str, ...]]) -> list[Sized]:
    """Return what a scope of these workloads measures of the case above."""
    scope = UpstreamScope("some", 1, "n", workloads=workloads)
    scope.check([CLAIMS])
    return list(scope.paced(CLAIMS))


def test_upstreams_workloads_are_measured_as_they_are() -> None:
    """Their size is in parameters of each case's own, which a size in nodes would not reach."""
    (one,) = measured({"Claims": ("half",)})

    document = one.case.document(one.workload, one.parameters, {}, None)
    assert one.name == "Claims/half"
    assert [work["params"] for work in document["workloads"]] == [{"nodesWithDRA": 200}]


@pytest.mark.parametrize(
    ("workloads", "said"),
    [
        ({"Claims": ("full",)}, "Claims has no workload 'full'; it has fast, half"),
        ({"Shares": ("half",)}, "upstream has no case Shares"),
    ],
)
def test_a_workload_that_upstream_has_no_longer_is_an_error(workloads: dict[str, tuple[str, ...]], said: str) -> None:
    """With another minor a case would be left out of the table without a word."""
    with pytest.raises(InputError, match=said):
        measured(workloads)


def test_cases_that_need_a_gate_run_where_it_is_switched_on() -> None:
    """And no profile without preemption is asked for a gang that preempts: it would wait for ever."""
    preempting = Case("p", {"name": "GangPreemptionBasic", "featureGates": {"GenericWorkload": True}})
    in_a_rack = Case(
        "t", {"name": "Rack", "featureGates": {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True}}
    )

    reasons = {one.name: preempting.left_out(one, GATES) for one in GANG_PROFILES}
    assert reasons["default"] == reasons["registered"] == ""
    assert "waits for preemption" in reasons["optimizer"]
    assert "GenericWorkload" in preempting.left_out(STOCK)
    assert in_a_rack.left_out(STOCK, GATES) == "needs TopologyAwareWorkloadScheduling, which is off by default"


def test_only_what_passes_with_stock_is_held_against_a_profile() -> None:
    """Upstream's tests are not all steady, and some ask for more than fake nodes."""
    of_cases = {
        ("default", "A"): True, ("default", "B"): False, ("registered", "A"): True,
        ("registered", "B"): False, ("score-cache", "A"): False,
    }  # fmt: skip
    of_specs = [
        SpecResult(spec, profile, result, "", 1.0)
        for spec, profile, result in (
            ("a", "default", "passed"), ("b", "default", "failed"),
            ("c", "default", "skipped"), ("a", "score-cache", "failed"),
            ("b", "score-cache", "failed"), ("c", "score-cache", "skipped"),
        )
    ]  # fmt: skip
    profile = next(one for one in PROFILES if one.name == "score-cache")

    found = named(
        upstream_figures([Pace(case, SMALL, arm, 0, None, passed) for (arm, case), passed in of_cases.items()])
    )
    specs, nothing = spec_figure(profile, of_specs), spec_figure(profile, of_specs[1:])

    assert found["registered: cases that fail, of those that stock passes"].met is True
    assert found["score-cache: cases that fail, of those that stock passes"].note == "A"
    assert (specs.value, specs.runs, specs.note, specs.met) == (1.0, 1, "a", False)
    assert (nothing.value, nothing.met, nothing.runs) == (None, None, 0)


def test_faults_are_counted_by_the_promise_that_was_broken(tmp_path: Path) -> None:
    """Whoever reads the figures must be able to repeat the try that failed."""
    good = Trial("faults/x", "kill-scheduler", 1, 1, 1.0, struck=True, held_s=1.4)
    broken = ("evicted-once: p: twice", "lost-pod: q", "lost-pod: r")
    bad = replace(good, number=7, held_s=2.5, second_plan=2, violations=broken)

    # A try whose moment never came says nothing.
    found = named(reliability_figures([good, bad, replace(bad, struck=False)]))
    for trial in (good, bad):
        trial_journal(tmp_path).add(trial)
    shown = write_results(tmp_path)
    content = json.loads((tmp_path / "reliability.json").read_text())

    counted = ("tries", "violations", "evictions issued twice", "pods lost")
    values = [found[f"scheduler killed: {what}"].value for what in counted]
    assert values == [2, 3, 1, 2]
    assert found["second plan on an unchanged cluster: moves"].value == 2
    assert (good.passed, bad.passed) == (True, False)
    assert [one["number"] for one in content["failed"]] == [7]
    assert "scheduler killed: violations" in shown
