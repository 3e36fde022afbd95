"""Student's interval of a mean change, with the metric's resolution in its spread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from stowage_testbed.compare.verdicts.pairs import Floats
from stowage_testbed.compare.verdicts.spending import FIRST_LOOK, share_of_look


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean change and how far it can be trusted, on the scale of the changes.

    Attributes
    ----------
    spread
        Standard deviation of one round's change.
    level
        Chance that an interval made like this misses.
    """

    mean: float
    half_width: float
    spread: float
    rounds: int
    level: float

    @property
    def low(self) -> float:
        """The lower end."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """The upper end."""
        return self.mean + self.half_width

    @property
    def leaves_out_zero(self) -> bool:
        """Whether no change lies outside."""
        return abs(self.mean) > self.half_width


def student_interval(changes: Floats, rounding_variance: float, level: float) -> Interval:
    """Return the interval of at least two changes that misses with chance ``level``."""
    rounds = len(changes)
    variance = float(changes.var(ddof=1)) + rounding_variance
    return Interval(
        mean=float(changes.mean()),
        half_width=float(_reach(np.array(rounds), level)) * float(np.sqrt(variance)),
        spread=float(np.sqrt(variance)),
        rounds=rounds,
        level=level,
    )


def rounds_to_show(interval: Interval, most: int, *, each_round: bool = False) -> int | None:
    """Return how many rounds of this spread would show this mean; None beyond ``most``.

    It takes the mean and the spread at their word, so it is a hint, not a promise.

    Parameters
    ----------
    each_round
        Whether each round has a look of its own, with a share of the error.
    """
    rounds = np.arange(interval.rounds, most + 1)
    level = np.full(rounds.shape, interval.level)
    if each_round and rounds.size:
        shares = np.array([share_of_look(max(n, FIRST_LOOK)) for n in rounds.tolist()])
        level *= shares / shares[0]
    widths = _reach(rounds, level) * interval.spread
    enough = np.flatnonzero(widths < abs(interval.mean))
    return int(rounds[enough[0]]) if enough.size else None


def _reach(rounds: npt.NDArray[np.intp], level: float | Floats) -> Floats:
    """Return the half widths of intervals for a spread of 1."""
    reach = stdtrit(rounds - 1.0, 1 - level / 2) / np.sqrt(rounds)
    return np.asarray(reach, dtype=np.float64)
