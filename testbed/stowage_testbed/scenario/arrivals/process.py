"""How pods come and how long they run, drawn from a seed.

All draws come from numpy's legacy generator: its streams are frozen, so that a seed
gives the same arrivals with every later version. Those of `numpy.random.Generator` may
change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Annotated, Any, Literal

from stowage_testbed.declaration import setting
from stowage_testbed.scenario.issues import DocumentIssue

Process = Literal["at-once", "constant", "uniform", "poisson", "gamma"]
"""What the times between two arrivals are like; `at-once` has none."""

Distribution = Literal["constant", "uniform", "exponential", "gamma"]
"""What lifetimes are like."""

_RANDOM = ("uniform", "poisson", "exponential", "gamma")
_ARRIVALS, _LIFETIMES = 0, 1
_GAPS: dict[Process, Distribution] = {
    "constant": "constant",
    "uniform": "uniform",
    "poisson": "exponential",
    "gamma": "gamma",
}
_INTERVALS = {
    "constant": "equal",
    "uniform": "uniformly drawn",
    "poisson": "exponential (Poisson)",
    "gamma": "gamma-distributed",
}
# 1 is what `poisson` has; the file must say it where it is used.
_VARIATION = {"default": None, "exclusiveMinimum": 0, "maximum": 100}
_SEED = {"minimum": 0, "maximum": 2**64 - 1}


@dataclass(frozen=True, slots=True)
class ArrivalProcess:
    """When pods are created; two processes of one seed give the same times."""

    process: Annotated[
        Process,
        setting(
            "at-once: all as fast as they can be created. constant: at equal "
            "intervals. uniform, poisson, gamma: at random intervals.",
            required=True,
        ),
    ] = "at-once"
    rate_per_s: Annotated[
        float, setting("Pods a second on average.", default=None, exclusiveMinimum=0, maximum=100000)
    ] = 0.0
    cv: Annotated[
        float,
        setting(
            "For gamma, the coefficient of variation of the intervals - 1 is poisson, more is clustered.", **_VARIATION
        ),
    ] = 1.0
    seed: Annotated[int, setting("One seed gives the same intervals each time.", **_SEED)] = 0

    def times_s(self, count: int) -> list[float]:
        """Return when each of ``count`` pods comes, in seconds from the start."""
        if self.process == "at-once":
            return [0.0] * count
        gaps = _draw(_GAPS[self.process], 1.0 / self.rate_per_s, self.cv, (self.seed, _ARRIVALS), count)
        return list(accumulate(gaps))

    def in_words(self) -> str:
        """Return when the pods come."""
        if self.process == "at-once":
            return "all as fast as the API server takes them"
        intervals = _INTERVALS[self.process]
        text = f"{self.rate_per_s:g} a second, at {intervals} intervals"
        if self.process == "gamma":
            text += f" (coefficient of variation {self.cv:g})"
        if self.process in _RANDOM:
            text += f", drawn from seed {self.seed}"
        return text

    @staticmethod
    def issues(plain: Mapping[str, Any]) -> Iterator[DocumentIssue]:
        """Yield where it lacks a number that it needs, or has another."""
        process = plain["process"]
        if process == "at-once":
            if "rate_per_s" in plain:
                message = "pods that come at once have no rate; remove it"
                yield DocumentIssue(("rate_per_s",), message, of_key=True)
        elif "rate_per_s" not in plain:
            message = f"process {process} needs `rate_per_s`, the pods a second; add it"
            yield DocumentIssue((), message)
        yield from _check_gamma_and_seed(plain, process)


@dataclass(frozen=True, slots=True)
class Lifetime:
    """How long a pod runs before it is done, in seconds from its start."""

    distribution: Annotated[Distribution, setting("What the lifetimes are like.", required=True)] = "constant"
    mean_s: Annotated[
        float,
        setting(
            "Seconds that a pod runs on average before it is done.",
            required=True,
            default=None,
            exclusiveMinimum=0,
            maximum=86400,
        ),
    ] = 1.0
    cv: Annotated[float, setting("For gamma, the coefficient of variation.", **_VARIATION)] = 1.0
    seed: Annotated[int, setting("One seed gives the same lifetimes each time.", **_SEED)] = 0

    def draws_s(self, count: int) -> list[float]:
        """Return the lifetimes of ``count`` pods, in the order in which they come."""
        stream = (self.seed, _LIFETIMES)
        return _draw(self.distribution, self.mean_s, self.cv, stream, count)

    def in_words(self) -> str:
        """Return how long a pod runs."""
        if self.distribution == "constant":
            return f"{self.mean_s:g} s"
        text = f"{self.mean_s:g} s on average ({self.distribution}"
        if self.distribution == "gamma":
            text += f", coefficient of variation {self.cv:g}"
        return f"{text}, drawn from seed {self.seed})"

    @staticmethod
    def issues(plain: Mapping[str, Any]) -> Iterator[DocumentIssue]:
        """Yield where it lacks a number that it needs, or has another."""
        return _check_gamma_and_seed(plain, plain["distribution"])


def _check_gamma_and_seed(plain: Mapping[str, Any], name: str) -> Iterator[DocumentIssue]:
    if name == "gamma" and "cv" not in plain:
        message = "gamma needs `cv`, the coefficient of variation; add it"
        yield DocumentIssue((), message)
    if name != "gamma" and "cv" in plain:
        message = f"{name} has a fixed coefficient of variation; remove `cv`"
        yield DocumentIssue(("cv",), message, of_key=True)
    if name not in _RANDOM and "seed" in plain:
        message = f"{name} draws nothing; remove `seed`"
        yield DocumentIssue(("seed",), message, of_key=True)


def _draw(distribution: Distribution, mean: float, cv: float, stream: tuple[int, int], count: int) -> list[float]:
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
