"""Growth is distinguished from noise, over processes that are restarted."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from benchmarks.faults.slopes import WARM_UP_S, Point, Slope, slope_of

HOUR_S = 3600.0
EVERY_S = 10.0
WARM_S = 360.0


def points(
    value: Callable[[float], float], *, life: int = 1, begin_s: float = 0.0
) -> list[Point]:
    seconds = [begin_s + EVERY_S * n for n in range(int((HOUR_S - begin_s) / EVERY_S))]
    return [Point(at_s, life, value(at_s)) for at_s in seconds]


def slope(*pieces: list[Point], warm_up_s: float = WARM_S) -> Slope:
    found = slope_of(pieces, warm_up_s)
    assert found is not None
    return found


def test_a_leak_is_found_under_the_noise_of_garbage_collection() -> None:
    """Memory is a saw of tens of MiB; a leak of ten an hour is a leak."""
    rng = random.Random(1)  # noqa: S311 - to be repeated

    found = slope(points(lambda at_s: 100 + 10 * at_s / HOUR_S + rng.uniform(-5, 5)))

    assert not found.is_none
    assert found.low < 10 < found.high


@pytest.mark.parametrize("seed", range(5))
def test_noise_alone_is_no_leak(seed: int) -> None:
    """A soak that cries wolf is not believed."""
    rng = random.Random(seed)  # noqa: S311 - to be repeated

    assert slope(points(lambda _: 100 + rng.uniform(-5, 5))).is_none


def an_allocator(seed: int) -> Callable[[float], float]:
    """Return memory that is taken in pieces and is not given back for a while."""
    rng, kept = random.Random(seed), [0.0]  # noqa: S311 - to be repeated

    def memory(_: float) -> float:
        kept[0] = 0.97 * kept[0] + rng.gauss(0, 1)
        return 300 + kept[0]

    return memory


def test_memory_that_wanders_is_no_leak() -> None:
    """Neighbouring minutes are alike: taken for independent, 25 of 40 leak."""
    wandering = [slope(points(an_allocator(seed))) for seed in range(40)]

    assert sum(not one.is_none for one in wandering) <= 6


def test_a_leak_is_found_in_memory_that_wanders() -> None:
    """What is told from noise must still be told."""
    memory = an_allocator(1)
    found = slope(points(lambda at_s: memory(at_s) + 60 * at_s / HOUR_S))

    assert not found.is_none
    assert found.low < 60 < found.high


def test_caches_that_fill_at_the_beginning_are_no_leak() -> None:
    """The optimiser's memory climbs for a quarter of an hour, and stays flat then."""
    warmed = points(lambda at_s: min(at_s, WARM_UP_S) / 10)

    assert slope(warmed, warm_up_s=WARM_UP_S).is_none
    assert slope(warmed, warm_up_s=0).per_hour > 50


def test_a_life_that_ends_before_it_is_warm_does_not_count() -> None:
    """Processes that faults end have lives of minutes."""
    short = [point for point in points(lambda s: s) if point.at_s < WARM_S]
    steady = points(lambda _: 100.0, life=2, begin_s=WARM_S)

    assert slope([*short, *steady]).per_hour == 0


def test_a_process_that_begins_anew_hides_no_leak() -> None:
    """Each life has a level of its own; over both the values only fall."""
    first = [point for point in points(lambda s: 300 + s / 36) if point.at_s < 1800]
    second = points(lambda s: 100 + (s - 1800) / 36, life=2, begin_s=1800)

    found = slope([*first, *second])

    assert found.per_hour == pytest.approx(100)
    assert not found.is_none


def test_pieces_of_a_soak_share_one_slope() -> None:
    """Each has processes and a level of its own, also where an id comes again."""
    first, second = (
        [point for point in points(leaking) if point.at_s < HOUR_S / 2]
        for leaking in (lambda s: 300 + s / 36, lambda s: 100 + s / 36)
    )

    both, one = slope(first, second), slope(first)

    assert both.per_hour == pytest.approx(100)
    assert both.parts == 2 * one.parts


def test_too_few_samples_show_nothing() -> None:
    """A line through two points fits always."""
    two = [Point(0, 1, 0.0), Point(2000, 1, 1.0), Point(2100, 1, 2.0)]

    assert slope_of([two], WARM_S) is None
