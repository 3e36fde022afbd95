"""How the speed of a machine is measured and compared."""

from __future__ import annotations

from itertools import count

import pytest

from stowage_testbed.compare.calibration import (
    ASSUMED_SPREAD,
    TRIES,
    TRY_S,
    WORKS,
    Speed,
    measure_speed,
    slowdown,
)


def test_a_rate_is_the_best_of_the_tries() -> None:
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


def test_every_work_can_be_done() -> None:
    """They run on machines that nobody has seen."""
    for work in WORKS.values():
        work()


def test_a_slowdown_is_the_geometric_mean_of_the_works_in_common() -> None:
    """Twice as slow at one and eight times at another is four times."""
    before = Speed({"a": 8.0, "b": 8.0, "gone": 1.0}, 2)
    now = Speed({"a": 4.0, "b": 1.0, "new": 1.0}, 2)

    found = slowdown(before, now)

    assert found is not None
    assert found.factor == pytest.approx(4.0)
    assert found.works == ("a", "b")
    assert found.log_spread == pytest.approx(0.6931, abs=1e-4)
    # One alone may be the one kind of work that the machines differ in.
    alone = slowdown(Speed({"a": 2.0}, 2), Speed({"a": 1.0}, 2))
    assert alone is not None
    assert alone.log_spread == ASSUMED_SPREAD
    # Rates of different works say nothing of each other.
    assert slowdown(Speed({"a": 1.0}, 2), Speed({"b": 1.0}, 2)) is None
