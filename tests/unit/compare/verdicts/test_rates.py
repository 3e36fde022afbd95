"""How often verdicts are wrong, and how often a real difference is found.

The bounds leave room for chance: at a true rate of 5 %, 8 or more of 60 comparisons are
wrong with one seed in eighty.

Simulated comparisons go through the very code that judges measured ones. A run has a
speed that its latencies share, a spread that its distribution metrics share, a few
metrics of its own, and some that never change.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from burst_runs import BurstArm, burst_rounds

from stowage_testbed.compare.result import measured
from stowage_testbed.compare.verdicts import looking
from stowage_testbed.compare.verdicts.judging import Question, judge_arm
from stowage_testbed.compare.verdicts.pairs import Floats
from stowage_testbed.compare.verdicts.spending import ERROR_RATE
from stowage_testbed.compare.verdicts.verdict import ArmVerdicts, MeasuredRun
from stowage_testbed.metrics.metric import Metric
from stowage_testbed.metrics.record import RunRecord, read_record

RECORDINGS = Path(__file__).parents[3] / "recordings"
REPETITIONS = 20
ALLOWED = 1


Noise = Callable[[np.random.Generator, int], Floats]
"""Draws numbers of standard deviation 1."""

TWO_SPEEDS = "two speeds"
"""It affects what depends on the machine's speed, and nothing else."""

NOISES: Mapping[str, Noise] = {
    "normal": lambda rng, size: rng.standard_normal(size),
    "uniform": lambda rng, size: rng.uniform(-(3**0.5), 3**0.5, size),
    "outliers": lambda rng, size: rng.standard_t(3, size) / 3**0.5,
    "skewed": lambda rng, size: rng.exponential(1.0, size) - 1.0,
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

HEADLINE = "t_sched_mean_s"
ASKED = Question(
    (
        HEADLINE,
        "t_sched_p99_s",
        "throughput_pods_per_s",
        "placed_pods",
        "jain_pods",
        "own_0",
    )
)
LOOKED_AT = replace(ASKED, each_round=True)


@dataclass(frozen=True, slots=True)
class Trial:
    """A kind of comparison.

    Attributes
    ----------
    spread
        Standard deviation of a run's logarithm.
    ratio
        How much slower the arm is than the baseline, in the metrics of speed.
    each_round
        Whether it is looked at after each round.
    """

    rounds: int
    spread: float
    ratio: float = 1.0
    noise: str = "normal"
    each_round: bool = False


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
    return judge_arm(baseline, arm, replace(ASKED, each_round=trial.each_round))


def alarm_rate(trial: Trial, comparisons: int, seed: int) -> float:
    """Return the share of comparisons in which any metric is called."""
    rng = np.random.default_rng(seed)
    called = (
        any(v.outcome in {"better", "worse"} for v in simulate(trial, rng).verdicts)
        for _ in range(comparisons)
    )
    return sum(called) / comparisons


def detection_rate(trial: Trial, comparisons: int, seed: int) -> float:
    """Return the share of comparisons in which the headline is called worse."""
    rng = np.random.default_rng(seed)
    found = (
        any(v.name == HEADLINE and v.outcome == "worse" for v in verdicts.verdicts)
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


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("rounds", [3, 5])
def test_an_arm_against_itself_is_called_in_one_of_twenty_comparisons(
    noise: str, rounds: int
) -> None:
    """Whatever shape the differences between runs have, over all headlines together."""
    assert alarm_rate(Trial(rounds, 0.08, noise=noise), 60, seed=rounds) <= 7 / 60


def test_two_rounds_do_not_call_what_is_not_there() -> None:
    """The fewest rounds there are must not be the loosest."""
    assert alarm_rate(Trial(2, 0.08), 60, seed=2) <= 7 / 60


@pytest.mark.parametrize("noise", NOISES)
def test_looking_after_each_round_calls_no_more_of_what_is_not_there(
    noise: str,
) -> None:
    """Nine looks at twelve rounds; each asked anew at the full rate, they would.

    As a verdict stands, what any of them called is called at the end.
    """
    trial = Trial(12, 0.2, noise=noise, each_round=True)

    assert alarm_rate(trial, 60, seed=12) <= 7 / 60


def test_looks_without_shares_would_call_too_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Which shows that the test before can fail."""
    monkeypatch.setattr(looking, "share_of_look", lambda _: ERROR_RATE)
    trial = Trial(12, 0.2, each_round=True)

    assert alarm_rate(trial, 60, seed=12) > 7 / 60


@pytest.mark.parametrize(("rounds", "each_round"), [(3, False), (4, True)])
def test_a_scheduler_that_takes_five_times_as_long_is_found_in_a_few_rounds(
    rounds: int, *, each_round: bool
) -> None:
    """0.055 s against 0.27 s, on a machine whose runs differ by a sixth."""
    trial = Trial(rounds, 0.15, 0.27 / 0.055, each_round=each_round)

    assert detection_rate(trial, 30, seed=1) >= 0.8


@pytest.mark.parametrize(("rounds", "spread"), [(3, 0.02), (6, 0.08)])
def test_a_difference_of_a_third_is_found(rounds: int, spread: float) -> None:
    """A tool that never says anything would pass all other tests."""
    assert detection_rate(Trial(rounds, spread, 1.3), 30, seed=1) >= 0.8


def test_simulated_bursts_of_one_arm_show_no_difference() -> None:
    """The metrics of a queue hang together as no table of random numbers does."""
    rounds = 3
    arms = (BurstArm("first"), BurstArm("second"))
    records = burst_rounds(rounds, arms, rounds * REPETITIONS)
    pairs = _pairs([measured(record) for record in records])

    called = [
        _called(pairs[begin : begin + rounds]) for begin in range(0, len(pairs), rounds)
    ]

    assert len(called) == REPETITIONS
    assert sum(map(bool, called)) <= ALLOWED, called


@pytest.mark.parametrize(
    ("rounds", "asked"), [(3, ASKED), (5, ASKED), (10, ASKED), (10, LOOKED_AT)]
)
def test_recorded_bursts_of_one_arm_show_no_difference(
    rounds: int, asked: Question
) -> None:
    """The promise of the comparison, on runs of a real scheduler.

    Runs that followed each other are a round, with either of them as the baseline.
    """
    recordings = _recordings()
    assert len(recordings) >= 2 * 10
    pairs = _pairs([measured(record) for record in recordings])
    rng = np.random.default_rng(rounds)

    called = []
    for _ in range(REPETITIONS):
        chosen = rng.choice(len(pairs), rounds, replace=False)
        turned = rng.random(rounds) < 0.5
        called.append(
            _called(
                [
                    pairs[pair][::-1] if turn else pairs[pair]
                    for pair, turn in zip(chosen, turned, strict=True)
                ],
                asked,
            )
        )

    assert sum(map(bool, called)) <= ALLOWED, called


Pair = tuple[MeasuredRun, MeasuredRun]


def _pairs(runs: Sequence[MeasuredRun]) -> list[Pair]:
    return list(zip(runs[::2], runs[1::2], strict=True))


def _called(pairs: Sequence[Pair], asked: Question = ASKED) -> list[str]:
    """Return the metrics that a comparison of these rounds calls better or worse."""
    baseline, arm = (
        [
            MeasuredRun(name, "own", number, pair[side].metrics, pair[side].error)
            for number, pair in enumerate(pairs, start=1)
        ]
        for side, name in enumerate(("baseline", "arm"))
    )
    verdicts = judge_arm(baseline, arm, asked).verdicts
    return [one.name for one in verdicts if one.outcome in {"better", "worse"}]


def _recordings() -> list[RunRecord]:
    """Return the runs of the recorded arm in the order in which they were made."""
    return [
        read_record(line)
        for file in sorted(RECORDINGS.glob("*.gz"))
        for line in gzip.decompress(file.read_bytes()).splitlines()
    ]
