"""Student's interval with the resolution in its spread."""

from __future__ import annotations

import numpy as np
import pytest

from stowage_testbed.compare.verdicts.interval import (
    Interval,
    rounds_to_show,
    student_interval,
)


def test_an_interval_is_that_of_the_textbook() -> None:
    """Mean 2, deviation 1, three values: 4.3027 / sqrt(3) on either side."""
    interval = student_interval(np.array([1.0, 2.0, 3.0]), 0.0, 0.05)

    assert interval.mean == 2.0
    assert interval.half_width == pytest.approx(2.484138, abs=1e-6)
    assert not interval.leaves_out_zero


def test_the_resolution_widens_an_interval() -> None:
    """Values that are steps apart may differ by less than they seem to."""
    changes = np.array([1.0, 1.0, 1.0])

    assert student_interval(changes, 0.0, 0.05).half_width == 0.0
    assert student_interval(changes, 1 / 6, 0.05).half_width == pytest.approx(
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


def test_no_number_of_rounds_shows_what_is_not_there() -> None:
    """Without a change in the mean there is nothing to wait for."""
    interval = student_interval(np.array([0.1, -0.1]), 0.0, 0.05)

    assert rounds_to_show(interval, 200) is None


def _of(rounds: int, like: Interval) -> Interval:
    """Return the interval of that many rounds with the same mean and spread."""
    pattern = np.arange(rounds, dtype=float)
    pattern -= pattern.mean()
    changes = like.mean + like.spread * pattern / pattern.std(ddof=1)
    return student_interval(changes, 0.0, like.level)
