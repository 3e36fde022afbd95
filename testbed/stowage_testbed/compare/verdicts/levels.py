"""How often the interval of each metric may miss, so that verdicts hold together."""

from __future__ import annotations

from collections.abc import Sequence

from stowage_testbed.compare.verdicts.interval import student_interval
from stowage_testbed.compare.verdicts.pairs import Pairs

ERROR_RATE = 0.05
"""One comparison of an arm with itself in twenty may call a metric better or worse."""

HEADLINES = (
    "t_sched_mean_s",
    "t_sched_p99_s",
    "throughput_pods_per_s",
    "placed_pods",
    "jain_pods",
    "ttr_s",
    "recovered_runs",
)
"""What is asked for first: speed, tail, rate, result, spread, recovery."""

HEADLINE_SHARE = 0.8
"""Of the allowed error: with three rounds, only a few metrics can be shown at all."""

FEWEST_ROUNDS = 2
"""Below it there is no spread."""


def levels(pairs: Sequence[Pairs]) -> dict[str, float]:
    """Return the level of every metric that can be called something, by its name.

    Step by step (Holm): metrics whose intervals leave out "no change" at their share
    of the error keep that level, and what they had goes to the others, until nothing
    is added.
    """
    left = {one.metric.name: one for one in pairs if _can_be_called(one)}
    shares = weights(tuple(left))
    found: dict[str, float] = {}
    while left:
        whole = sum(shares[name] for name in left)
        level = {name: ERROR_RATE * shares[name] / whole for name in left}
        shown = [name for name, one in left.items() if _shows(one, level[name])]
        # At the last step, those that are left keep what they have.
        for name in shown or tuple(left):
            found[name] = level[name]
            del left[name]
    return found


def weights(names: Sequence[str]) -> dict[str, float]:
    """Return each metric's share of the error; they add up to 1."""
    first = sum(name in HEADLINES for name in names)
    others = len(names) - first
    if not first or not others:
        return dict.fromkeys(names, 1 / max(len(names), 1))
    return {
        name: HEADLINE_SHARE / first
        if name in HEADLINES
        else (1 - HEADLINE_SHARE) / others
        for name in names
    }


def _can_be_called(pairs: Pairs) -> bool:
    """Return whether a metric has a direction, enough rounds, and ever differs."""
    return (
        pairs.metric.better != "neither"
        and len(pairs.changes) >= FEWEST_ROUNDS
        and bool(pairs.changes.any())
    )


def _shows(pairs: Pairs, level: float) -> bool:
    return student_interval(
        pairs.changes, pairs.rounding_variance, level
    ).leaves_out_zero
