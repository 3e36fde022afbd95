"""A later comparison against an earlier one, on machines of different speed."""

from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from burst_runs import BurstArm, burst_rounds
from comparisons import a_comparison, a_result

from stowage_testbed.base.errors import InputError
from stowage_testbed.compare.baseline import (
    Baseline,
    Series,
    baseline_of,
    check,
    check_table,
    load_baseline,
    save_baseline,
    welch_interval,
)
from stowage_testbed.compare.speed import ASSUMED_SPREAD, TRIES, TRY_S, WORKS, Speed, measure_speed, slowdown

FILE = Path("baseline.json")


def a_baseline(seed: int, *, service_s: float = 0.008, speed: float = 1.0) -> Baseline:
    """Return what is kept of ten rounds; `speed` is the machine's, 1 as it was."""
    records = burst_rounds(seed, [BurstArm(service_s=service_s, machine=speed)], 10)
    rates = Speed(dict.fromkeys(WORKS, 1000 * speed), cpus=2)
    about = a_comparison(("default",), speed=rates)
    return baseline_of(a_result(records, about))


BEFORE = a_baseline(1)


def outcomes(now: Baseline) -> dict[str, str]:
    found = check(FILE, BEFORE, now)
    return {verdict.name: verdict.outcome for _, verdict in found.checked}


def test_a_baseline_is_read_as_it_was_saved_and_nothing_else_is(tmp_path: Path) -> None:
    """It lies in a repository between releases; the arguments are easily swapped."""
    file = tmp_path / "baseline.json"
    save_baseline(BEFORE, file)

    assert load_baseline(file) == BEFORE
    assert {one.name for one in BEFORE.series} == {
        "t_sched_mean_s", "t_sched_p99_s", "throughput_pods_per_s", "placed_pods",
        "jain_pods",
    }  # fmt: skip
    for content in ("", "{}", '{"format": "other"}'):
        file.write_text(content)
        with pytest.raises(InputError, match="stowage compare --save"):
            load_baseline(file)
    with pytest.raises(InputError):
        load_baseline(tmp_path)


def test_a_slower_scheduler_is_worse_also_on_a_slower_machine() -> None:
    """What the machine does not account for is the scheduler's, and nothing else is.

    A laptop's baseline must not fail on CI, nor hide that nothing was gained.
    """
    both_slower = a_baseline(2, speed=0.5, service_s=0.024)
    unknown_machine = replace(a_baseline(2, speed=0.5), speed=None)

    assert outcomes(a_baseline(2, service_s=0.016)).items() >= {
        ("t_sched_mean_s", "worse"),
        ("throughput_pods_per_s", "worse"),
        ("placed_pods", "no difference shown"),
    }
    assert "worse" in outcomes(both_slower).values()
    assert "worse" in outcomes(unknown_machine).values()
    for speed, never in ((1.0, "worse"), (0.5, "worse"), (2.0, "better")):
        assert never not in outcomes(a_baseline(2, speed=speed)).values()


def test_machines_too_far_apart_leave_times_unjudged_and_the_table_says_so() -> None:
    """A queue's times do not grow in proportion; a scaled figure must be told."""
    found = outcomes(a_baseline(2, speed=0.3, service_s=0.04))
    scaled = check_table(check(FILE, BEFORE, a_baseline(2, speed=0.5)))
    plain = check_table(check(FILE, BEFORE, replace(a_baseline(2), speed=None)))

    assert found["t_sched_mean_s"] == found["throughput_pods_per_s"] == "not judged"
    assert found["jain_pods"] == "no difference shown"
    assert any("2.00 times slower" in note for note in scaled.notes)
    assert any("nothing is scaled" in note for note in plain.notes)


def test_an_arm_that_is_gone_or_fails_does_not_hold() -> None:
    """One that is dropped or completely broken must not pass for lack of figures."""
    gone = replace(BEFORE.series[0], arm="yunikorn")
    broken = [replace(record, error="the scheduler ended") for record in burst_rounds(2, [BurstArm()], 10)]
    other = burst_rounds(2, [BurstArm("other")], 10)
    about = a_comparison(("default", "other"))
    now = baseline_of(a_result([*broken, *other], about))

    def missing(series: tuple[Series, ...], now: Baseline) -> tuple[str, ...]:
        found = check(FILE, replace(BEFORE, series=series), now)
        assert not found.holds
        return found.missing

    assert missing((*BEFORE.series, gone), a_baseline(2)) == ("yunikorn, own limits: t_sched_mean_s",)
    assert {"default, own limits: t_sched_mean_s", "default, own limits: round 3 failed"} <= {
        *missing((*BEFORE.series, *now.series), now)
    }


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"scenario_id": "burst/other"}, "it is of burst/deployment-200"),
        ({"scenario_sha256": "0" * 64}, "file has changed"),
        ({"parameters": {"replicas": 10}}, "parameters are others"),
        ({"series": ()}, "no arm and metric in common"),
        ({"client_limits": {"own": {"default": (20.0, 30)}}}, "client limits"),
        ({"warm_up": 7}, "warming up"),
    ],
)
def test_what_is_not_alike_is_not_compared(other: dict[str, Any], said: str) -> None:
    """A verdict on two different questions answers neither."""
    with pytest.raises(InputError, match=said):
        check(FILE, BEFORE, replace(BEFORE, **other))


def test_welchs_interval_is_that_of_the_textbook() -> None:
    """Groups 0, 1, 2 and 10, 14: degrees of freedom 1.17, quantile 9.17."""
    before, now = (Series("own", "a", "x", "pods", "lower", 0.0, values) for values in ((0.0, 1.0, 2.0), (10.0, 14.0)))

    found = welch_interval(before, now, 0.05)

    assert found is not None
    scale, mean, half_width = found
    assert (scale, mean) == ("difference", 11.0)
    assert half_width == pytest.approx(9.1658 * (1 / 3 + 8 / 2) ** 0.5, rel=0.02)
    lone = replace(before, values=(1.0,))
    assert welch_interval(lone, lone, 0.05) is None  # one round is no spread


def test_a_machines_rate_is_the_best_of_the_tries() -> None:
    """Whatever else runs on the machine only ever slows a try."""
    tries = count(1)
    now = 0.0

    def work() -> None:
        nonlocal now
        now += TRY_S / 4 if next(tries) == 3 else TRY_S

    speed = measure_speed({"work": work}, lambda: now)

    assert next(tries) > TRIES
    assert speed.per_s["work"] == pytest.approx(2 / (1.25 * TRY_S))
    assert speed.cpus >= 1
    for one in WORKS.values():
        one()


def test_a_slowdown_is_the_geometric_mean_of_the_works_in_common() -> None:
    """Twice as slow at one and eight times at another is four times."""
    before = Speed({"a": 8.0, "b": 8.0, "gone": 1.0}, 2)

    found = slowdown(before, Speed({"a": 4.0, "b": 1.0, "new": 1.0}, 2))
    alone = slowdown(Speed({"a": 2.0}, 2), Speed({"a": 1.0}, 2))

    assert found is not None
    assert (found.factor, found.log_spread) == pytest.approx((4.0, 0.6931), abs=1e-4)
    assert found.works == ("a", "b")
    # One alone may be the one kind of work that the machines differ in.
    assert alone is not None
    assert alone.log_spread == ASSUMED_SPREAD
    # Rates of different works say nothing of each other.
    assert slowdown(Speed({"a": 1.0}, 2), Speed({"b": 1.0}, 2)) is None
