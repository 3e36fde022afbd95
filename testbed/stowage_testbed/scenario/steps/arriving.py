"""Steps that create pods one by one, when they are to come."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, repeat
from typing import Annotated, Literal

from annotated_types import Gt, Interval, Le

from stowage_testbed.scenario.manifests import make_bare_pod
from stowage_testbed.scenario.steps.action import Action, Demand
from stowage_testbed.scenario.steps.context import StepContext
from stowage_testbed.scenario.steps.pacing import Due, note_lateness, pace
from stowage_testbed.scenario.types import Of, Seed

Process = Literal["at-once", "constant", "uniform", "poisson", "gamma"]
"""What the times between two arrivals are like; `at-once` has none."""

Distribution = Literal["constant", "uniform", "exponential", "gamma"]  # What lifetimes are like
_RANDOM = ("uniform", "poisson", "exponential", "gamma")
_ARRIVALS, _LIFETIMES = 0, 1
_GAPS: dict[Process, Distribution] = {
    "constant": "constant",
    "uniform": "uniform",
    "poisson": "exponential",
    "gamma": "gamma",
}
Variation = Annotated[float, Gt(0), Le(100)]


@dataclass(frozen=True, slots=True)
class ArrivalProcess:
    """When pods are created; two processes of one seed give the same times."""

    process: Process = "at-once"
    """at-once: all as fast as they can be created. constant: at equal intervals. uniform, poisson, gamma: at random
    intervals."""
    rate_per_s: Annotated[float, Gt(0), Le(100000)] | None = None
    """Pods a second on average."""
    cv: Variation | None = None
    """For gamma, the coefficient of variation of the intervals - 1 is poisson, more is clustered."""
    seed: Seed = 0
    """One seed gives the same intervals each time."""

    def __post_init__(self) -> None:
        if self.process == "at-once" and self.rate_per_s is not None:
            raise ValueError("pods that come at once have no rate; remove `rate_per_s`")
        if self.process != "at-once" and self.rate_per_s is None:
            raise ValueError(f"process {self.process} needs `rate_per_s`, the pods a second; add it")
        _check_gamma_and_seed(self.process, self.cv, self.seed)

    def times_s(self, count: int) -> list[float]:
        """Return when each of ``count`` pods comes, in seconds from the start."""
        if self.rate_per_s is None:
            return [0.0] * count
        return list(
            accumulate(_draw(_GAPS[self.process], 1.0 / self.rate_per_s, self.cv, (self.seed, _ARRIVALS), count))
        )


@dataclass(frozen=True, slots=True)
class Lifetime:
    """How long a pod runs before it is done, in seconds from its start."""

    distribution: Distribution
    """What the lifetimes are like."""
    mean_s: Annotated[float, Gt(0), Le(86400)]
    """Seconds that a pod runs on average before it is done."""
    cv: Variation | None = None
    """For gamma, the coefficient of variation."""
    seed: Seed = 0
    """One seed gives the same lifetimes each time."""

    def __post_init__(self) -> None:
        _check_gamma_and_seed(self.distribution, self.cv, self.seed)

    def draws_s(self, count: int) -> list[float]:
        """Return the lifetimes of ``count`` pods, in the order in which they come."""
        return _draw(self.distribution, self.mean_s, self.cv, (self.seed, _LIFETIMES), count)


def _check_gamma_and_seed(name: str, cv: float | None, seed: int) -> None:
    if name == "gamma" and cv is None:
        raise ValueError("gamma needs `cv`, the coefficient of variation; add it")
    if name != "gamma" and cv is not None:
        raise ValueError(f"{name} has a fixed coefficient of variation; remove `cv`")
    if name not in _RANDOM and seed:
        raise ValueError(f"{name} draws nothing; remove `seed`")


def _draw(
    distribution: Distribution, mean: float, cv: float | None, stream: tuple[int, int], count: int
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
        case "gamma" if cv is not None:
            drawn = random.gamma(cv**-2, mean * cv**2, count)
    return [float(one) for one in drawn]


@dataclass(frozen=True, slots=True)
class Burst(Action):
    """Create pods like a workload's one by one, without a controller."""

    kind = "burst"
    deadline = "lateness"
    workload: Annotated[str, Of("template")]
    """The workload that says what the pods are like; it is not applied besides."""
    pods: Annotated[int, Interval(ge=1, le=100000)]
    """How many."""
    arrival: ArrivalProcess = field(default_factory=ArrivalProcess)
    """When each of them comes; without it all come at once."""
    lifetime: Lifetime | None = None
    """How long each of them runs; without it none is ever done."""

    def ask(self, demand: Demand) -> None:
        demand[self.workload] += self.pods

    def carry_out(self, context: StepContext) -> None:
        context.create_groups(context.workloads[self.workload])
        pacing = pace(context, self._list_dues(context))
        context.facts["pods"] = pacing.done
        if self.arrival.process != "at-once":
            note_lateness(context, pacing)
        context.made[self.workload] += self.pods

    def _list_dues(self, context: StepContext) -> Iterator[Due]:
        first, workload = context.made[self.workload], context.workloads[self.workload]
        lifetimes = self.lifetime.draws_s(self.pods) if self.lifetime else repeat(None, self.pods)
        pairs = zip(self.arrival.times_s(self.pods), lifetimes, strict=True)
        for number, (at_s, lifetime_s) in enumerate(pairs, start=first):
            name = f"{self.workload}-{number:05}"
            manifest = make_bare_pod(workload, name, context.namespace, lifetime_s)
            yield Due(at_s, name, partial(context.create, manifest))
