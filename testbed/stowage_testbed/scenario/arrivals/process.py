"""How pods come and how long they run, drawn from a seed.

All draws come from numpy's legacy generator: its streams are frozen, so that a seed
gives the same arrivals with every later version. Those of `numpy.random.Generator` may
change.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

Process = Literal["constant", "uniform", "poisson", "gamma", "at-once"]
"""What the times between two arrivals are like; `at-once` has none."""

Distribution = Literal["constant", "uniform", "exponential", "gamma"]
"""What lifetimes are like."""

RANDOM_PROCESSES = ("uniform", "poisson", "gamma")
RANDOM_DISTRIBUTIONS = ("uniform", "exponential", "gamma")

_ARRIVALS, _LIFETIMES = 0, 1
_GAPS: dict[Process, Distribution] = {
    "constant": "constant",
    "uniform": "uniform",
    "poisson": "exponential",
    "gamma": "gamma",
}


@dataclass(frozen=True, slots=True)
class ArrivalProcess:
    """When pods are created.

    Attributes
    ----------
    rate_per_s
        Pods a second on average; the times between two of them have the mean of its
        inverse. Not used by `at-once`.
    cv
        Coefficient of variation of those times, for `gamma`: below 1 they are more even
        than `poisson`, above 1 they come in clusters.
    seed
        Two processes of one seed give the same times.
    """

    process: Process = "at-once"
    rate_per_s: float = 0.0
    cv: float = 1.0
    seed: int = 0

    def times_s(self, count: int) -> list[float]:
        """Return when each of ``count`` pods comes, in seconds from the start."""
        if self.process == "at-once":
            return [0.0] * count
        gaps = _draws(
            _GAPS[self.process],
            1.0 / self.rate_per_s,
            self.cv,
            (self.seed, _ARRIVALS),
            count,
        )
        return list(accumulate(gaps))


@dataclass(frozen=True, slots=True)
class Lifetime:
    """How long a pod runs before it is done, in seconds from its start.

    ``cv`` is the coefficient of variation, for `gamma`.
    """

    distribution: Distribution = "constant"
    mean_s: float = 1.0
    cv: float = 1.0
    seed: int = 0

    def draws_s(self, count: int) -> list[float]:
        """Return the lifetimes of ``count`` pods, in the order in which they come."""
        stream = (self.seed, _LIFETIMES)
        return _draws(self.distribution, self.mean_s, self.cv, stream, count)


def _draws(
    distribution: Distribution,
    mean: float,
    cv: float,
    stream: tuple[int, int],
    count: int,
) -> list[float]:
    """Return ``count`` draws of a mean; streams of one seed are independent."""
    # Every command loads this file, and few draw anything.
    import numpy as np  # noqa: PLC0415

    bits = np.random.MT19937(np.random.SeedSequence(stream))
    random = np.random.RandomState(bits)
    match distribution:
        case "constant":
            drawn = np.full(count, mean)
        case "uniform":
            drawn = random.uniform(0.0, 2.0 * mean, count)
        case "exponential":
            drawn = random.exponential(mean, count)
        case "gamma":
            drawn = random.gamma(cv**-2, mean * cv**2, count)
    return [float(one) for one in drawn]
