"""How often verdicts are wrong, and how often a real difference is found.

The bounds leave room for chance: at a true rate of 5 %, 8 or more of 60 comparisons are
wrong with one seed in eighty. The tables of the documentation have a thousand.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from burst_runs import BurstArm, burst_rounds

from stowage_testbed.compare.result import measured
from stowage_testbed.compare.verdicts.judging import judge_arm
from stowage_testbed.compare.verdicts.measured_run import MeasuredRun
from stowage_testbed.compare.verdicts.power import (
    FEW_DRAWS,
    NOISES,
    Trial,
    alarm_rate,
    detection_rate,
)
from stowage_testbed.metrics.record import RunRecord

RECORDINGS = Path(__file__).parents[3] / "recordings"
REPETITIONS = 20
ALLOWED = 1


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("rounds", [3, 5])
def test_an_arm_against_itself_is_called_in_one_of_twenty_comparisons(
    noise: str, rounds: int
) -> None:
    """Whatever shape the differences between runs have, over all metrics together."""
    assert alarm_rate(Trial(rounds, 0.08, noise=noise), 60, seed=rounds) <= 7 / 60


def test_two_rounds_do_not_call_what_is_not_there() -> None:
    """The fewest rounds there are must not be the loosest."""
    assert alarm_rate(Trial(2, 0.08), 60, seed=2) <= 7 / 60


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


@pytest.mark.parametrize("rounds", [3, 5, 10])
def test_recorded_bursts_of_one_arm_show_no_difference(rounds: int) -> None:
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
                ]
            )
        )

    assert sum(map(bool, called)) <= ALLOWED, called


Pair = tuple[MeasuredRun, MeasuredRun]


def _pairs(runs: Sequence[MeasuredRun]) -> list[Pair]:
    return list(zip(runs[::2], runs[1::2], strict=True))


def _called(pairs: Sequence[Pair]) -> list[str]:
    """Return the metrics that a comparison of these rounds calls better or worse."""
    baseline, arm = (
        [
            MeasuredRun(name, "own", number, pair[side].metrics, pair[side].error)
            for number, pair in enumerate(pairs, start=1)
        ]
        for side, name in enumerate(("baseline", "arm"))
    )
    verdicts = judge_arm(baseline, arm, draws=FEW_DRAWS).verdicts
    return [one.name for one in verdicts if one.outcome in {"better", "worse"}]


def _recordings() -> list[RunRecord]:
    """Return the runs of the recorded arm in the order in which they were made."""
    return [
        RunRecord.of(json.loads(line))
        for file in sorted(RECORDINGS.glob("*.gz"))
        for line in gzip.decompress(file.read_bytes()).splitlines()
    ]
