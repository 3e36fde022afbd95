"""Growth is distinguished from noise, over processes that are restarted."""

import random
from collections.abc import Callable

import pytest

from benchmarks.faults.soak import WARM_UP_S, Point, Slope, slope_of

HOUR_S = 3600.0
EVERY_S = 10.0
WARM_S = 360.0


def points(
    value: Callable[[float], float], *, life: int = 1, begin_s: float = 0.0, end_s: float = HOUR_S
) -> list[Point]:
    seconds = [begin_s + EVERY_S * n for n in range(int((end_s - begin_s) / EVERY_S))]
    return [Point(at_s, life, value(at_s)) for at_s in seconds]


def slope(*pieces: list[Point], warm_up_s: float = WARM_S) -> Slope:
    found = slope_of(pieces, warm_up_s)
    assert found is not None
    return found


def collected(seed: int) -> Callable[[float], float]:
    """Return memory that a garbage collector makes a saw of."""
    rng = random.Random(seed)  # noqa: S311 - to be repeated
    return lambda _: 100 + rng.uniform(-5, 5)


def allocated(seed: int) -> Callable[[float], float]:
    """Return memory that is taken in pieces and is not given back for a while."""
    rng, kept = random.Random(seed), [0.0]  # noqa: S311 - to be repeated

    def memory(_: float) -> float:
        kept[0] = 0.97 * kept[0] + rng.gauss(0, 1)
        return 300 + kept[0]

    return memory


@pytest.mark.parametrize(("memory", "leak"), [(collected(1), 10), (allocated(1), 60)], ids=["saw", "wander"])
def test_a_leak_is_found_under_noise(memory: Callable[[float], float], leak: float) -> None:
    """What is told from noise must still be told."""
    found = slope(points(lambda at_s: memory(at_s) + leak * at_s / HOUR_S))

    assert not found.is_none
    assert found.low < leak < found.high


def test_noise_alone_is_no_leak() -> None:
    """Neighbouring minutes are alike: taken for independent, 25 of 40 leak."""
    wandering = [slope(points(allocated(seed))) for seed in range(40)]

    assert all(slope(points(collected(seed))).is_none for seed in range(5))
    assert sum(not one.is_none for one in wandering) <= 6


def test_caches_that_fill_at_the_beginning_are_no_leak() -> None:
    """The optimiser's memory climbs for a quarter of an hour, and stays flat then."""
    warmed = points(lambda at_s: min(at_s, WARM_UP_S) / 10)

    assert slope(warmed, warm_up_s=WARM_UP_S).is_none
    assert slope(warmed, warm_up_s=0).per_hour > 50


def test_a_life_that_ends_before_it_is_warm_does_not_count() -> None:
    """Processes that faults end have lives of minutes."""
    short = points(lambda s: s, end_s=WARM_S)
    steady = points(lambda _: 100.0, life=2, begin_s=WARM_S)

    assert slope([*short, *steady]).per_hour == 0


def test_processes_and_pieces_have_levels_of_their_own_and_share_one_slope() -> None:
    """Over both lives the values only fall; an id may come again in another piece."""
    first = points(lambda s: 300 + s / 36, end_s=1800)
    later = points(lambda s: 100 + (s - 1800) / 36, life=2, begin_s=1800)
    other = points(lambda s: 100 + s / 36, end_s=1800)

    anew, both = slope([*first, *later]), slope(first, other)

    assert anew.per_hour == pytest.approx(100)
    assert not anew.is_none
    assert both.per_hour == pytest.approx(100)
    assert both.parts == 2 * slope(first).parts


def test_too_few_samples_show_nothing() -> None:
    """A line through two points fits always."""
    two = [Point(0, 1, 0.0), Point(2000, 1, 1.0), Point(2100, 1, 2.0)]

    assert slope_of([two], WARM_S) is None
