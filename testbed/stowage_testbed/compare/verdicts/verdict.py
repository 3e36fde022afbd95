"""What is said of one metric of one arm, against the baseline."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import Literal

from stowage_testbed.metrics.metric import Better, Metric


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """One arm in one round.

    Attributes
    ----------
    limits
        ``own`` or ``equal`` client limits; only runs of one kind are compared.
    error
        Why the run does not count; empty for one that does.
    clock
        What its moments were read from; a round of two clocks does not count.
    """

    arm: str
    limits: str
    round_number: int
    metrics: tuple[Metric, ...]
    error: str = ""
    clock: str = ""


Outcome = Literal["better", "worse", "no difference shown", "not judged"]

Scale = Literal["ratio", "difference"]
"""``ratio`` is arm over baseline, ``difference`` arm less baseline."""

UNCHANGED: dict[Scale, float] = {"ratio": 1.0, "difference": 0.0}

MOST_LOG = 700.0
"""Of a ratio: beyond it no float holds the ratio, and JSON has no infinity."""


Ends = tuple[float, float, float]
"""A change and the ends of its interval: logarithms of ratios, or differences."""


def on_scale(scale: Scale, ends: Ends | None) -> tuple[float | None, float | None, float | None]:
    """Return estimate, low and high as they are shown."""
    if ends is None:
        return None, None, None
    if scale == "difference":
        return ends
    estimate, low, high = (exp(min(end, MOST_LOG)) for end in ends)
    return estimate, low, high


def outcome_of(better: Better, ends: Ends | None) -> Outcome:
    """Return what an interval means: it leaves out that nothing changed, or not."""
    if better == "neither":
        return "not judged"
    if ends is None or ends[1] <= 0 <= ends[2]:
        return "no difference shown"
    return "better" if (ends[2] < 0) == (better == "lower") else "worse"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One metric of one arm.

    Attributes
    ----------
    baseline, arm
        Means over the rounds that have both.
    estimate, low, high
        The change on ``scale`` and the interval that the outcome goes by; ``None``
        where fewer than two rounds have both values. A ratio is the geometric mean of
        the rounds' ratios.
    confidence
        Of this interval alone, at the last look; it is more than that of all of them
        together.
    rounds
        How many have both values.
    headline
        Whether the metric is one of those that were named beforehand; of the others
        nothing is said.
    reason
        Why the outcome is what it is, as a sentence.
    decided
        Whether further rounds would not tell more that matters.
    """

    name: str
    unit: str
    better: Better
    outcome: Outcome
    baseline: float | None
    arm: float | None
    scale: Scale
    estimate: float | None
    low: float | None
    high: float | None
    confidence: float
    rounds: int
    headline: bool
    reason: str
    decided: bool = True


@dataclass(frozen=True, slots=True)
class ArmVerdicts:
    """All that is said of one arm under one kind of client limits.

    Attributes
    ----------
    rounds
        Rounds in which both arms have a run that counts.
    left_out
        Rounds that do not count, with the reason.
    """

    arm: str
    baseline: str
    limits: str
    rounds: int
    left_out: tuple[str, ...]
    verdicts: tuple[Verdict, ...]

    def outcomes(self, outcome: Outcome) -> tuple[Verdict, ...]:
        """Return the verdicts with one outcome."""
        return tuple(one for one in self.verdicts if one.outcome == outcome)

    @property
    def headlines(self) -> tuple[Verdict, ...]:
        """The verdicts on the headlines, the one that leads first."""
        return tuple(one for one in self.verdicts if one.headline)

    @property
    def open(self) -> tuple[str, ...]:
        """The headlines that more rounds may decide."""
        return tuple(one.name for one in self.headlines if not one.decided)
