"""Why a verdict is what it is, in one sentence."""

from __future__ import annotations

from math import exp, log

from stowage_testbed.compare.verdicts.interval import Interval, rounds_to_show
from stowage_testbed.compare.verdicts.pairs import Pairs
from stowage_testbed.compare.verdicts.verdict import Outcome

MOST_ROUNDS = 200
"""Beyond this many rounds an answer takes too long."""


TENFOLD = log(10)
"""Beyond this the number is of no use."""

NEAR = 1.01
"""Ratios below it need more digits to be distinguished from 1."""


def too_few(pairs: Pairs) -> str:
    """Return why there is no interval."""
    if pairs.missing:
        return f"no value to compare: {pairs.missing}"
    if not pairs.changes.size:
        return "no round has a value of both arms"
    return "one round shows no spread; two are the fewest, five are advisable"


def reason(pairs: Pairs, interval: Interval, outcome: Outcome) -> str:
    """Return the reason for a verdict with an interval."""
    missing = f"; other rounds have no value: {pairs.missing}" if pairs.missing else ""
    return _core(pairs, interval, outcome) + missing


def _core(pairs: Pairs, interval: Interval, outcome: Outcome) -> str:
    if outcome == "not judged":
        return "neither direction is an improvement"
    if not pairs.changes.any():
        return "the same in every round"
    if outcome != "no difference shown":
        side = "above" if interval.mean > 0 else "below"
        neutral = "1" if pairs.scale == "ratio" else "0"
        return f"the whole interval lies {side} {neutral}"
    shown = _shown(interval, pairs)
    needed = rounds_to_show(interval, MOST_ROUNDS)
    if needed is None:
        return f"{interval.rounds} rounds show changes beyond {shown}"
    return (
        f"{interval.rounds} rounds show changes beyond {shown}; "
        f"about {needed} would show this one"
    )


def _shown(interval: Interval, pairs: Pairs) -> str:
    if pairs.scale == "ratio" and interval.half_width > TENFOLD:
        return "tenfold"
    if pairs.scale == "ratio":
        ratio = exp(interval.half_width)
        return f"x{ratio:.3g}" if ratio > NEAR else f"x{ratio:.5f}"
    return f"{interval.half_width:.3g} {pairs.metric.unit}"
