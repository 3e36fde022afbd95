"""Growth is distinguished from noise, over processes that are restarted."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from benchmarks.soak.slopes import Point, slope_of

HOUR_S = 3600.0
EVERY_S = 10.0


def points(
    value: Callable[[float], float], *, life: int = 1, begin_s: float = 0.0
) -> list[Point]:
    seconds = [begin_s + EVERY_S * n for n in range(int((HOUR_S - begin_s) / EVERY_S))]
    return [Point(at_s, life, value(at_s)) for at_s in seconds]


def test_a_leak_is_found_under_the_noise_of_garbage_collection() -> None:
    """Memory is a saw of tens of MiB; a leak of ten an hour is a leak."""
    rng = random.Random(1)  # noqa: S311 - to be repeated

    slope = slope_of(
        points(lambda at_s: 100 + 10 * at_s / HOUR_S + rng.uniform(-5, 5)), HOUR_S
    )

    assert slope is not None
    assert not slope.is_none
    assert slope.low < 10 < slope.high


@pytest.mark.parametrize("seed", range(5))
def test_noise_alone_is_no_leak(seed: int) -> None:
    """A soak that cries wolf is not believed."""
    rng = random.Random(seed)  # noqa: S311 - to be repeated

    slope = slope_of(points(lambda _: 100 + rng.uniform(-5, 5)), HOUR_S)

    assert slope is not None
    assert slope.is_none


def test_caches_that_fill_at_the_beginning_are_no_leak() -> None:
    """A life's first tenth is left out."""
    rng = random.Random(2)  # noqa: S311 - to be repeated

    def warming(at_s: float) -> float:
        return 100 - 50 * math.exp(-at_s / 40) + rng.uniform(-1, 1)

    slope = slope_of(points(warming), HOUR_S)

    assert slope is not None
    assert slope.is_none


def test_a_process_that_begins_anew_hides_no_leak() -> None:
    """Each life has a level of its own; over both the values only fall."""
    first = [point for point in points(lambda s: 300 + s / 36) if point.at_s < 1800]
    second = points(lambda s: 100 + (s - 1800) / 36, life=2, begin_s=1800)

    slope = slope_of([*first, *second], HOUR_S)

    assert slope is not None
    assert slope.per_hour == pytest.approx(100)
    assert not slope.is_none


def test_too_few_samples_show_nothing() -> None:
    """A line through two points fits always."""
    assert slope_of([Point(2000, 1, 1.0), Point(2100, 1, 2.0)], HOUR_S) is None
