"""Intervals of single metrics, and the error that all metrics share."""

from __future__ import annotations

import numpy as np
import pytest

from stowage_testbed.compare.verdicts.interval import (
    Interval,
    rounds_to_show,
    student_interval,
)
from stowage_testbed.compare.verdicts.levels import levels
from stowage_testbed.compare.verdicts.pairs import Floats, Pairs
from stowage_testbed.compare.verdicts.spending import (
    ERROR_RATE,
    FIRST_LOOK,
    share_of_look,
)
from stowage_testbed.metrics.metric import Metric


def test_an_interval_is_that_of_the_textbook() -> None:
    """Mean 2, deviation 1, three values: 4.3027 / sqrt(3) on either side.

    A resolution widens it: values that are steps apart may differ by less.
    """
    interval = student_interval(np.array([1.0, 2.0, 3.0]), 0.0, 0.05)

    assert interval.mean == 2.0
    assert interval.half_width == pytest.approx(2.484138, abs=1e-6)
    assert not interval.leaves_out_zero
    same = np.array([1.0, 1.0, 1.0])
    assert student_interval(same, 0.0, 0.05).half_width == 0.0
    assert student_interval(same, 1 / 6, 0.05).half_width == pytest.approx(
        2.484138 / 6**0.5, abs=1e-6
    )


def test_the_rounds_that_would_show_a_change_do_show_it() -> None:
    """The hint is what `--repeat` is to be set to."""
    interval = student_interval(np.array([0.1, 0.3, 0.2, -0.1]), 0.0, 0.01)
    needed = rounds_to_show(interval, 200)

    assert needed is not None
    assert needed > 4
    assert _of(needed, interval).leaves_out_zero
    assert not _of(needed - 1, interval).leaves_out_zero
    nothing = student_interval(np.array([0.1, -0.1]), 0.0, 0.05)
    assert rounds_to_show(nothing, 200) is None


def _of(rounds: int, like: Interval) -> Interval:
    """Return the interval of that many rounds with the same mean and spread."""
    pattern = np.arange(rounds, dtype=float)
    pattern -= pattern.mean()
    changes = like.mean + like.spread * pattern / pattern.std(ddof=1)
    return student_interval(changes, 0.0, like.level)


def pairs(name: str, changes: Floats, resolution: float = 0.0) -> Pairs:
    """Return a metric that is 1 in the baseline and changes by these logarithms."""
    values = tuple(np.exp(changes).tolist())
    metric = Metric(name, 1.0, "s", "lower", 200, resolution)
    return Pairs(metric, (1.0,) * len(values), values, resolution, "")


def noise(rounds: int, seed: int = 2) -> Floats:
    return np.random.default_rng(seed).normal(0, 0.1, rounds)


def test_metrics_share_the_error() -> None:
    """Twenty questions, of which one may be answered wrong in twenty comparisons.

    What never varies cannot be called anything, and leaves its share.
    """
    columns = [pairs(f"m{number}", noise(3, number)) for number in range(20)]
    still = [pairs(f"still_{number}", np.zeros(5)) for number in range(30)]

    assert list(levels(columns).values()) == pytest.approx([ERROR_RATE / 20] * 20)
    assert levels([pairs("a", noise(5))]) == {"a": ERROR_RATE}
    assert levels([pairs("a", noise(5)), *still]) == {"a": ERROR_RATE}


def test_what_is_shown_hands_its_share_on() -> None:
    """The plain difference is not asked for again; the others have it easier."""
    quiet = [pairs(f"m{number}", noise(5, number)) for number in range(4)]
    shown = pairs("plain", 3 + noise(5))

    alone, beside = levels(quiet), levels([*quiet, shown])

    assert beside["plain"] == pytest.approx(ERROR_RATE / 5)
    assert {name: beside[name] for name in alone} == pytest.approx(alone)


def test_the_shares_of_all_looks_add_up_to_the_allowed_error() -> None:
    """Who looks after each round asks again and again, and may be wrong each time."""
    shares = [share_of_look(rounds) for rounds in range(FIRST_LOOK, 2000)]

    assert shares[:3] == pytest.approx(
        [ERROR_RATE / 2, ERROR_RATE / 6, ERROR_RATE / 12]
    )
    assert 0.99 * ERROR_RATE < sum(shares) < ERROR_RATE


def test_a_look_hands_out_no_more_than_its_share() -> None:
    """Its headlines share it as those of a single look share all of it."""
    columns = [pairs(f"m{number}", noise(4, number)) for number in range(5)]

    found = levels(columns, share_of_look(4))

    assert list(found.values()) == pytest.approx([ERROR_RATE / 10] * 5)
