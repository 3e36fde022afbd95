"""How often the interval of each headline may miss, so that verdicts hold together."""

from __future__ import annotations

from collections.abc import Sequence

from stowage_testbed.compare.verdicts.interval import student_interval
from stowage_testbed.compare.verdicts.pairs import Pairs
from stowage_testbed.compare.verdicts.spending import ERROR_RATE, FEWEST_ROUNDS


def levels(pairs: Sequence[Pairs], error: float = ERROR_RATE) -> dict[str, float]:
    """Return the level of every headline that can be called something, by its name.

    Step by step (Holm): metrics whose intervals leave out "no change" at their share
    of the error keep that level, and what they had goes to the others, until nothing
    is added.
    """
    left = {one.metric.name: one for one in pairs if _can_be_called(one)}
    found: dict[str, float] = {}
    while left:
        level = error / len(left)
        shown = [name for name, one in left.items() if _shows(one, level)]
        # At the last step, those that are left keep what they have.
        for name in shown or tuple(left):
            found[name] = level
            del left[name]
    return found


def _can_be_called(pairs: Pairs) -> bool:
    """Return whether a metric has a direction, enough rounds, and ever differs."""
    return pairs.metric.better != "neither" and len(pairs.changes) >= FEWEST_ROUNDS and bool(pairs.changes.any())


def _shows(pairs: Pairs, level: float) -> bool:
    return student_interval(pairs.changes, pairs.rounding_variance, level).leaves_out_zero
