"""How often verdicts are wrong, and how many rounds a real difference takes.

Simulated comparisons go through the very code that judges measured ones. A run has a
speed that its latencies share, a spread that its distribution metrics share, a few
metrics of its own, and some that never change. ``python -m
stowage_testbed.compare.verdicts.power`` prints the tables of the documentation.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from tabulate import tabulate

from stowage_testbed.compare.verdicts.judging import judge_arm
from stowage_testbed.compare.verdicts.measured_run import MeasuredRun
from stowage_testbed.compare.verdicts.pairs import Floats
from stowage_testbed.compare.verdicts.verdict import ArmVerdicts
from stowage_testbed.metrics.metric import Metric

Noise = Callable[[np.random.Generator, int], Floats]
"""Draws numbers of standard deviation 1."""

TWO_SPEEDS = "two speeds"
"""It affects what depends on the machine's speed, and nothing else."""

NOISES: Mapping[str, Noise] = {
    "normal": lambda rng, size: rng.standard_normal(size),
    "uniform": lambda rng, size: rng.uniform(-(3**0.5), 3**0.5, size),
    "outliers": lambda rng, size: rng.standard_t(3, size) / 3**0.5,
    TWO_SPEEDS: lambda rng, size: (
        rng.choice([-1.0, 1.0], size) + 0.1 * rng.standard_normal(size)
    ),
}
"""What runs of one arm may differ by; the last is a machine that is slow or fast."""

SPEED = (
    "t_sched_mean_s", "t_sched_p99_s", "throughput_pods_per_s",
    *(f"t_{name}_{what}_s" for name in ("sched", "ready") for what in "abcde"),
)  # fmt: skip
SPREAD = ("jain_pods", *(f"jain_{number}" for number in range(6)))
OWN = tuple(f"own_{number}" for number in range(9))
STILL = ("placed_pods", *(f"still_{number}" for number in range(7)))

SHARED = 0.8
"""Of a metric's variance, what it shares with its group."""

FEW_DRAWS = 500
"""Of the bootstrap, whose own error averages out over many comparisons."""

HEADLINE = "t_sched_mean_s"
RATIO = 1.3
"""The difference that is to be found: 30 %."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A kind of comparison.

    Attributes
    ----------
    spread
        Standard deviation of a run's logarithm.
    ratio
        How much slower the arm is than the baseline, in the metrics of speed.
    """

    rounds: int
    spread: float
    ratio: float = 1.0
    noise: str = "normal"


@dataclass(frozen=True, slots=True)
class _Group:
    """Metrics that hang together.

    Attributes
    ----------
    shared
        Of their variance; 0 for metrics that have nothing to do with each other.
    noise
        Of what they share, or of each where they share nothing.
    """

    names: tuple[str, ...]
    ratio: float
    shared: float
    noise: Noise

    def metrics(self, spread: float, rng: np.random.Generator) -> Iterable[Metric]:
        """Yield the values of one run."""
        own_noise = NOISES["normal"] if self.shared else self.noise
        common = self.shared**0.5 * self.noise(rng, 1)[0]
        for name in self.names:
            own = (1 - self.shared) ** 0.5 * own_noise(rng, 1)[0]
            value = self.ratio * float(np.exp(spread * (common + own)))
            yield Metric(name, value, "s", "lower", 200, 0.001)


def simulate(trial: Trial, rng: np.random.Generator) -> ArmVerdicts:
    """Return the verdicts of one simulated comparison."""
    numbers = range(1, trial.rounds + 1)
    baseline = [_run(trial, rng, "baseline", number, 1.0) for number in numbers]
    arm = [_run(trial, rng, "arm", number, trial.ratio) for number in numbers]
    return judge_arm(baseline, arm, draws=FEW_DRAWS)


def alarm_rate(trial: Trial, comparisons: int, seed: int) -> float:
    """Return the share of comparisons in which any metric is called."""
    rng = np.random.default_rng(seed)
    called = (
        any(v.outcome in {"better", "worse"} for v in simulate(trial, rng).verdicts)
        for _ in range(comparisons)
    )
    return sum(called) / comparisons


def detection_rate(
    trial: Trial, comparisons: int, seed: int, name: str = HEADLINE
) -> float:
    """Return the share of comparisons in which one metric is called worse."""
    rng = np.random.default_rng(seed)
    found = (
        any(v.name == name and v.outcome == "worse" for v in verdicts.verdicts)
        for verdicts in (simulate(trial, rng) for _ in range(comparisons))
    )
    return sum(found) / comparisons


def _run(
    trial: Trial, rng: np.random.Generator, arm: str, number: int, ratio: float
) -> MeasuredRun:
    noise = NOISES[trial.noise]
    other = NOISES["normal"] if trial.noise == TWO_SPEEDS else noise
    groups = (
        _Group(SPEED, ratio, SHARED, noise),
        _Group(SPREAD, 1.0, SHARED, other),
        _Group(OWN, 1.0, 0.0, other),
    )
    metrics = [
        *(metric for group in groups for metric in group.metrics(trial.spread, rng)),
        *(Metric(name, 200.0, "pods", "lower", 200, 1.0) for name in STILL),
    ]
    return MeasuredRun(arm, "own", number, tuple(metrics))


def _alarm_table(comparisons: int) -> str:
    rounds = (2, 3, 5, 10, 20)
    rows = [
        (
            noise,
            *(
                f"{alarm_rate(Trial(n, 0.08, noise=noise), comparisons, n):.1%}"
                for n in rounds
            ),
        )
        for noise in NOISES
    ]
    return tabulate(
        rows, ["runs differ by", *(f"{n} rounds" for n in rounds)], "github"
    )


def _power_table(comparisons: int) -> str:
    rounds = (3, 4, 5, 6, 8, 10, 15)
    rows = [
        (
            f"{spread:.0%}",
            name,
            *(
                f"{detection_rate(Trial(n, spread, RATIO), comparisons, n, name):.0%}"
                for n in rounds
            ),
        )
        for spread in (0.03, 0.05, 0.08, 0.12)
        for name in (HEADLINE, SPEED[-1])
    ]
    headers = ["spread of runs", "metric", *(f"{n} rounds" for n in rounds)]
    return tabulate(rows, headers, "github")


def tables(comparisons: int) -> str:
    """Return both tables of the documentation, from that many comparisons a cell."""
    return "\n\n".join(
        (
            f"Comparisons of an arm with itself that call a metric, of {comparisons}:",
            _alarm_table(comparisons),
            f"Comparisons that find a difference of 30 %, of {comparisons}:",
            _power_table(comparisons),
        )
    )


if __name__ == "__main__":
    print(tables(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))  # noqa: T201
