"""The figures: each profile's pace beside stock's in the same rounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from benchmarks.upstream.profiles import PROFILES, STOCK, Profile
from stowage_testbed.compare.verdicts.interval import student_interval
from stowage_testbed.text.figure import Figure, figure

LEVEL = 0.05
"""Chance that an interval misses."""

SMALL = "smallest"
"""The size of cases that are only to pass."""

FEWEST = 2
"""Rounds that an interval takes."""

WANTED = {
    ("score-cache", "SchedulingBasic", "1,000 nodes"): 1.3,
    ("score-cache", "PreferredTopologySpreading", "1,000 nodes"): 2.0,
    ("score-cache", "SchedulingBasic", "upstream's size"): 1.5,
    ("score-cache", "PreferredTopologySpreading", "upstream's size"): 2.7,
}
"""Ratios that are asked for, beyond the profile's promise."""


@dataclass(frozen=True, slots=True)
class Pace:
    """What a profile gave in a case in a round: mean pods a second, if it has a pace.

    ``end`` is the end of its output if it did not pass.
    """

    case: str
    size: str
    profile: str
    round_number: int
    pods_s: float | None
    passed: bool
    end: str = ""


def upstream_figures(paces: Sequence[Pace]) -> Iterator[Figure]:
    """Yield the figures: paces and ratios case by case, then who passes how many."""
    measured = [one for one in paces if one.pods_s is not None and one.size != SMALL]
    for case, size in dict.fromkeys((one.case, one.size) for one in measured):
        here = [one for one in measured if (one.case, one.size) == (case, size)]
        for profile in PROFILES:
            yield from _of_profile(f"{case}, {size}", case, size, profile, here)
    for size in dict.fromkeys(one.size for one in measured):
        here = [one for one in measured if one.size == size]
        yield from _of_all_cases(size, here)
    for profile in PROFILES:
        yield from _passing(profile, paces)


def _of_profile(name: str, case: str, size: str, profile: Profile, here: Sequence[Pace]) -> Iterator[Figure]:
    paces = [one.pods_s for one in here if one.profile == profile.name and one.pods_s]
    if not paces:
        return
    yield figure(f"{name}: {profile.name}", "pods/s", paces, median)
    ratios = _ratios(profile, here)
    if profile is not STOCK and ratios:
        least = WANTED.get((profile.name, case, size), profile.promise)
        yield ratio_figure(f"{name}: {profile.name} over stock", ratios, least)


def _of_all_cases(size: str, here: Sequence[Pace]) -> Iterator[Figure]:
    """Yield each profile's ratio over all cases: three rounds of one say little."""
    if len({one.case for one in here}) < FEWEST:
        return
    for profile in PROFILES:
        ratios = _ratios(profile, here)
        if profile is not STOCK and ratios:
            name = f"all cases, {size}: {profile.name} over stock"
            yield ratio_figure(name, ratios, profile.promise)


def _ratios(profile: Profile, here: Sequence[Pace]) -> list[float]:
    """Return a profile's pace over stock's, wherever both have one in a round."""
    mine, stock = (
        {(one.case, one.round_number): one.pods_s for one in here if one.profile == name and one.pods_s}
        for name in (profile.name, STOCK.name)
    )
    return [mine[key] / stock[key] for key in sorted(mine.keys() & stock.keys())]


def ratio_figure(name: str, ratios: Sequence[float], least: float | None) -> Figure:
    """Return the mean of ratios, with its interval as the spread from two rounds on.

    Whether the target is met is said only where the whole interval says it.
    """
    logarithms = np.log(np.asarray(ratios, dtype=np.float64))
    low = high = value = float(np.exp(logarithms.mean()))
    spread: tuple[float, ...] = ()
    if len(ratios) >= FEWEST:
        interval = student_interval(logarithms, 0.0, LEVEL)
        low, high = float(np.exp(interval.low)), float(np.exp(interval.high))
        spread = (low, high)
    note = "mean of the rounds' ratios, and its 95 % interval"
    if least is None:
        return Figure(name, value, "x", runs=len(ratios), spread=spread, note=note)
    met = True if low >= least else False if high < least else None
    if met is None:
        note = f"{note}; these rounds cannot tell whether the target is met"
    return Figure(name, value, "x", f">= {least:g}", met, len(ratios), spread, note)


def _passing(profile: Profile, paces: Sequence[Pace]) -> Iterator[Figure]:
    """Yield how many cases fail with the profile that pass with stock."""
    stock = {(one.case, one.size) for one in paces if one.profile == STOCK.name and one.passed}
    mine = [one for one in paces if one.profile == profile.name]
    failed = {
        (one.case, one.size) for one in mine if not one.passed and (profile is STOCK or (one.case, one.size) in stock)
    }
    if not mine:
        return
    name, count = f"{profile.name}: cases that fail", float(len(failed))
    cases = len({one.case for one in mine})
    note = ", ".join(sorted(case for case, _ in failed))
    if profile is STOCK:
        yield Figure(name, count, "", runs=cases, note=note)
    else:
        name = f"{name}, of those that stock passes"
        yield Figure(name, count, "", "<= 0", not failed, cases, note=note)


def failing_figure(name: str, passed: Mapping[str, bool]) -> Figure:
    """Return how many fail of what is judged; where nothing is, nothing is claimed."""
    failed = sorted(one for one, well in passed.items() if not well)
    value, met = (float(len(failed)), not failed) if passed else (None, None)
    return Figure(name, value, "", "<= 0", met, len(passed), note="; ".join(failed))
