"""FIND, HOLD and the outcome, on a simulated autoscaler and its clock."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

import pytest
from hpa_records import QUICK, SimulatedHpa

from stowage_testbed.hpa.load import Recovery, find, hold, recovery
from stowage_testbed.hpa.model.load_window import LoadWindow
from stowage_testbed.hpa.settings import (
    FULL,
    Autoscaling,
    Find,
    Hold,
    RecoverySettings,
    Timing,
)


def windows(pattern: str) -> list[LoadWindow]:
    """Return windows of 10 s from second 100: ``o`` keeps the SLA, ``x`` breaks it."""
    return [
        LoadWindow(100.0 + 10 * n, 110.0 + 10 * n, 10, 400, 0.9, 0.0, ok=sign == "o")
        for n, sign in enumerate(pattern)
    ]


@pytest.mark.parametrize(
    ("pattern", "streak", "expected"),
    [
        ("xxo", 1, Recovery("recovered", 30.0)),
        ("xoxo", 1, Recovery("recovered", 20.0)),
        ("xoxoo", 2, Recovery("recovered", 50.0)),
        ("oxo", 1, Recovery("recovered", 30.0)),
        ("oooo", 1, Recovery("no_degradation", 0.0)),
        ("ooox", 1, Recovery("no_recovery_within_hold", -1.0)),
        ("xoxox", 2, Recovery("no_recovery_within_hold", -1.0)),
        ("xxxx", 1, Recovery("no_recovery_within_hold", -1.0)),
    ],
)
def test_recovery_is_the_first_streak_after_a_breach(
    pattern: str, streak: int, expected: Recovery
) -> None:
    """Section 5.2.2: windows before the first breach do not count."""
    assert recovery(windows(pattern), streak) == expected


def test_find_ends_at_the_first_level_that_breaks_the_sla() -> None:
    """Three replicas take three clients, and not seven (see the model's tests)."""
    target = SimulatedHpa(replace(FULL, find=Find(3, 30, 4, level_s=5.0)))

    levels = find(target, target.settings)

    assert [(level.clients, level.ok) for level in levels] == [(3, True), (7, False)]
    assert target.now_s() == 10.0


def test_find_ends_with_the_most_clients_if_nothing_breaks_the_sla() -> None:
    """Also where the steps would jump over it."""
    plenty = Autoscaling(min_replicas=50, max_replicas=50)
    settings = replace(FULL, autoscaling=plenty, find=Find(1, 4, 2, level_s=5.0))

    levels = find(SimulatedHpa(settings), settings)

    assert [level.clients for level in levels] == [1, 3, 4]
    assert all(level.ok for level in levels)


def test_hold_recovers_when_the_autoscaler_has_caught_up() -> None:
    """The paper's run: 3, 7, 14, 20 replicas, and the last are enough."""
    target = SimulatedHpa(FULL, clock_s=1.0)

    seen = recovery(hold(target, FULL, clients=10), streak=1)

    assert [count.ready for count in target.counts] == [3, 7, 14, 20]
    assert seen == Recovery("recovered", 60.0)


def test_hold_is_as_long_as_the_paper_s_however_early_the_recovery() -> None:
    """The share of good windows is of the whole phase."""
    found = hold(SimulatedHpa(FULL), FULL, clients=10)

    assert len(found) == 30
    assert found[-1].end_s == pytest.approx(900.0)


def test_hold_can_end_at_the_recovery() -> None:
    settings = replace(FULL, hold=Hold(whole=False))

    found = hold(SimulatedHpa(settings, clock_s=1.0), settings, clients=10)

    assert [window.ok for window in found] == [False, True]


@pytest.mark.parametrize(
    ("scaling", "outcome"),
    [
        (Autoscaling(max_replicas=10), "no_recovery_within_hold"),
        (Autoscaling(min_replicas=20), "no_degradation"),
    ],
)
def test_too_few_replicas_do_not_recover_and_enough_never_degrade(
    scaling: Autoscaling, outcome: str
) -> None:
    settings = replace(FULL, autoscaling=scaling)

    found = hold(SimulatedHpa(settings), settings, clients=10)

    assert recovery(found, 1).outcome == outcome


def test_the_pods_usage_follows_every_change_of_the_replicas() -> None:
    """What the autoscaler reads must be what the model says of that moment."""
    target = SimulatedHpa(FULL)

    hold(target, FULL, clients=10)

    usages = [milli for _, milli in target.usages]
    steps = [milli for milli, _ in groupby(usages)]
    assert steps == [417, 312, 217, 172]


def test_the_quick_run_scales_at_once_and_recovers() -> None:
    target = SimulatedHpa(QUICK)

    levels = find(target, QUICK)
    found = hold(target, QUICK, levels[-1].clients)

    assert levels[-1].clients == 6
    assert recovery(found, 1) == Recovery("recovered", 10.0)


def test_a_document_with_few_settings_has_defaults_for_the_others() -> None:
    document = {"hold": {"window_s": 2.0}, "timing": {"sync_s": 1}}

    settings = RecoverySettings.of(document)

    assert settings == replace(FULL, hold=Hold(window_s=2.0), timing=Timing(sync_s=1))
    assert RecoverySettings.of(settings.document()) == settings


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Find(start=0),
        lambda: Find(start=5, most=4),
        lambda: Hold(total_s=1.0, window_s=2.0),
        lambda: Hold(streak=0),
        lambda: Autoscaling(min_replicas=5, max_replicas=4),
    ],
)
def test_settings_that_allow_no_run_are_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"needed|has no level|has no window"):
        wrong()  # type: ignore[operator]
