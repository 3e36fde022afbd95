"""What rounds say of each headline: looked at once, or after every round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from stowage_testbed.compare.verdicts.interval import Interval, student_interval
from stowage_testbed.compare.verdicts.levels import levels
from stowage_testbed.compare.verdicts.pairs import Pairs, paired
from stowage_testbed.compare.verdicts.spending import ERROR_RATE, FEWEST_ROUNDS, FIRST_LOOK, share_of_look
from stowage_testbed.compare.verdicts.verdict import Ends, MeasuredRun

Round = tuple[MeasuredRun, MeasuredRun]
"""Baseline and arm."""


@dataclass(frozen=True, slots=True)
class Look:
    """One metric after some rounds.

    Attributes
    ----------
    interval
        Of these rounds; ``None`` where they are too few.
    ends
        Estimate and ends that hold at every look so far.
    """

    pairs: Pairs
    interval: Interval | None = None
    ends: Ends | None = None


def pair_rounds(rounds: Sequence[Round]) -> tuple[Pairs, ...]:
    """Return the pairs of every metric."""
    return paired([first for first, _ in rounds], [other for _, other in rounds])


def look_alone(pairs: Pairs, level: float = ERROR_RATE) -> Look:
    """Return what is seen of one metric by itself."""
    if len(pairs.changes) < FEWEST_ROUNDS:
        return Look(pairs)
    interval = student_interval(pairs.changes, pairs.rounding_variance, level)
    return Look(pairs, interval, (interval.mean, interval.low, interval.high))


def look_once(rounds: Sequence[Round], headlines: Sequence[str], error: float = ERROR_RATE) -> dict[str, Look]:
    """Return the headlines by name, with intervals that share the error."""
    found = [one for one in pair_rounds(rounds) if one.metric.name in headlines]
    level_of = levels(found, error)
    return {one.metric.name: look_alone(one, level_of.get(one.metric.name, error)) for one in found}


def look_each_round(rounds: Sequence[Round], headlines: Sequence[str]) -> dict[str, Look]:
    """Return what a look after each round has come to.

    Each has its share of the error, so that all their intervals hold together: what
    they have in common holds too, and a verdict once given stands.
    """
    asked = [_only(one, headlines) for one in rounds]
    found = {one.metric.name: Look(one) for one in pair_rounds(asked) if one.metric.name in headlines}
    for count in range(FIRST_LOOK, len(asked) + 1):
        new = look_once(asked[:count], headlines, share_of_look(count))
        found |= {name: _narrow(one, found.get(name)) for name, one in new.items()}
    return found


def _only(pair: Round, headlines: Sequence[str]) -> Round:
    first, other = (replace(run, metrics=tuple(m for m in run.metrics if m.name in headlines)) for run in pair)
    return first, other


def _narrow(new: Look, before: Look | None) -> Look:
    if before is None or before.ends is None or new.ends is None:
        return new
    if before.pairs.scale != new.pairs.scale:
        return new
    (mean, low, high), (_, least, most) = new.ends, before.ends
    low, high = max(low, least), min(high, most)
    if low > high:
        # One of the two is wrong, which is what the error rate allows for.
        return new
    return replace(new, ends=(min(max(mean, low), high), low, high))
