"""A later comparison against an earlier one, on machines of different speed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from burst_runs import BurstArm, burst_rounds
from comparisons import a_comparison, a_result

from stowage_testbed.base.errors import InputError
from stowage_testbed.compare.baseline.checking import change, check, speed_dependence
from stowage_testbed.compare.baseline.document import (
    Baseline,
    Series,
    baseline_of,
    load_baseline,
    save_baseline,
)
from stowage_testbed.compare.baseline.table import check_table
from stowage_testbed.compare.calibration import Speed

FILE = Path("baseline.json")
WORKS = ("encode", "hash", "pack", "score")


def a_baseline(seed: int, *, service_s: float = 0.008, speed: float = 1.0) -> Baseline:
    """Return what is kept of ten rounds; `speed` is the machine's, 1 as it was."""
    records = burst_rounds(seed, [BurstArm(service_s=service_s, machine=speed)], 10)
    rates = Speed(dict.fromkeys(WORKS, 1000 * speed), cpus=2)
    about = a_comparison(("default",), speed=rates)
    return baseline_of(a_result(records, about))


def outcomes(before: Baseline, now: Baseline) -> dict[str, str]:
    found = check(FILE, before, now)
    return {one.verdict.name: one.verdict.outcome for one in found.checked}


def test_a_baseline_is_read_as_it_was_saved(tmp_path: Path) -> None:
    """It lies in a repository between one release and the next."""
    kept = a_baseline(1)

    save_baseline(kept, tmp_path / "baseline.json")

    assert load_baseline(tmp_path / "baseline.json") == kept
    assert {one.name for one in kept.series} == {
        "t_sched_mean_s",
        "t_sched_p99_s",
        "throughput_pods_per_s",
        "placed_pods",
        "jain_pods",
    }


def test_a_slower_scheduler_is_worse() -> None:
    """What the check is for."""
    found = check(FILE, a_baseline(1), a_baseline(2, service_s=0.016))

    assert found.worse
    by_name = {one.verdict.name: one.verdict for one in found.checked}
    assert by_name["t_sched_mean_s"].outcome == "worse"
    assert by_name["throughput_pods_per_s"].outcome == "worse"
    assert by_name["placed_pods"].outcome == "no difference shown"


@pytest.mark.parametrize(
    ("now", "never"),
    [
        (a_baseline(2), "worse"),
        (a_baseline(2, speed=0.5), "worse"),
        (a_baseline(2, speed=2.0), "better"),
    ],
    ids=["the same machine", "half its speed", "twice its speed"],
)
def test_another_machine_alone_is_neither_worse_nor_better(
    now: Baseline, never: str
) -> None:
    """A laptop's baseline must not fail on CI, nor hide that nothing was gained."""
    assert never not in outcomes(a_baseline(1), now).values()


def test_a_slower_machine_is_told_from_a_slower_scheduler() -> None:
    """What the machine does not account for is the scheduler's."""
    slower = a_baseline(2, speed=0.5)

    assert check(FILE, a_baseline(1), a_baseline(2, speed=0.5, service_s=0.024)).worse
    unknown = replace(slower, speed=None)
    assert check(FILE, a_baseline(1), unknown).worse


def test_machines_too_far_apart_leave_times_unjudged() -> None:
    """A queue's times do not grow in proportion; spread and counts are judged."""
    found = outcomes(a_baseline(1), a_baseline(2, speed=0.3, service_s=0.04))

    assert found["t_sched_mean_s"] == "not judged"
    assert found["throughput_pods_per_s"] == "not judged"
    assert found["jain_pods"] == "no difference shown"


def test_the_table_says_how_it_was_scaled() -> None:
    """A scaled figure that does not say so is a false one."""
    scaled = check_table(check(FILE, a_baseline(1), a_baseline(2, speed=0.5)))
    plain = check_table(check(FILE, a_baseline(1), replace(a_baseline(2), speed=None)))

    assert any("2.00 times slower" in note for note in scaled.notes)
    assert any("nothing is scaled" in note for note in plain.notes)


def test_an_arm_that_is_gone_is_named() -> None:
    """An arm that was dropped cannot get worse unnoticed."""
    before = a_baseline(1)
    gone = replace(before.series[0], arm="yunikorn")

    found = check(FILE, replace(before, series=(*before.series, gone)), a_baseline(2))

    assert found.missing == ("yunikorn, own limits: t_sched_mean_s",)


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
    now = replace(a_baseline(1), **other)

    with pytest.raises(InputError, match=said):
        check(FILE, a_baseline(1), now)


@pytest.mark.parametrize("content", ["", "{}", '{"format": "other"}'])
def test_a_file_that_is_no_baseline_is_a_clear_issue(
    tmp_path: Path, content: str
) -> None:
    """The arguments are easily swapped."""
    file = tmp_path / "baseline.json"
    file.write_text(content)

    with pytest.raises(InputError, match="stowage baseline save"):
        load_baseline(file)
    with pytest.raises(InputError):
        load_baseline(tmp_path)


def test_welchs_interval_is_that_of_the_textbook() -> None:
    """Groups 0, 1, 2 and 10, 14: degrees of freedom 1.17, quantile 9.17."""
    before, now = (
        Series("own", "a", "x", "pods", "lower", 0.0, values)
        for values in ((0.0, 1.0, 2.0), (10.0, 14.0))
    )

    found = change(before, now, 0.05)

    assert found is not None
    assert (found.scale, found.mean) == ("difference", 11.0)
    assert found.half_width == pytest.approx(9.1658 * (1 / 3 + 8 / 2) ** 0.5, rel=0.02)
    lone = replace(before, values=(1.0,))
    assert change(lone, lone, 0.05) is None  # one round is no spread


@pytest.mark.parametrize(
    ("unit", "how"),
    [("s", "time"), ("pods/s", "rate"), ("pods", "none"), ("index", "none")],
)
def test_units_show_what_the_machine_affects(unit: str, how: str) -> None:
    """A slow machine makes times longer and rates lower, and fairness no different."""
    assert speed_dependence(unit) == how


def test_an_arm_that_fails_does_not_hold() -> None:
    """A scheduler that is completely broken must not pass because it has no figures."""
    before = a_baseline(1)
    broken = [
        replace(record, error="the scheduler ended")
        for record in burst_rounds(2, [BurstArm()], 10)
    ]
    other = burst_rounds(2, [BurstArm("other")], 10)
    about = a_comparison(("default", "other"))
    now = baseline_of(a_result([*broken, *other], about))
    both = replace(before, series=(*before.series, *now.series))

    found = check(FILE, both, now)

    assert not found.holds
    assert "default, own limits: t_sched_mean_s" in found.missing
    assert "default, own limits: round 3 failed" in found.missing
