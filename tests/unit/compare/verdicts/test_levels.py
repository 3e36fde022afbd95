"""The error that all metrics share, and how it is handed on."""

from __future__ import annotations

import numpy as np
import pytest

from stowage_testbed.compare.verdicts.levels import (
    ERROR_RATE,
    HEADLINES,
    levels,
    weights,
)
from stowage_testbed.compare.verdicts.pairs import Floats, Pairs
from stowage_testbed.metrics.metric import Metric


def pairs(name: str, changes: Floats, resolution: float = 0.0) -> Pairs:
    """Return a metric that is 1 in the baseline and changes by these logarithms."""
    values = tuple(np.exp(changes).tolist())
    metric = Metric(name, 1.0, "s", "lower", 200, resolution)
    return Pairs(metric, (1.0,) * len(values), values, resolution, "")


def noise(rounds: int, seed: int = 2) -> Floats:
    return np.random.default_rng(seed).normal(0, 0.1, rounds)


def test_one_metric_keeps_the_whole_error() -> None:
    """There is nothing to share it with."""
    assert levels([pairs("a", noise(5))]) == {"a": ERROR_RATE}


def test_metrics_share_the_error() -> None:
    """Twenty questions, of which one may be answered wrong in twenty comparisons."""
    columns = [pairs(f"m{number}", noise(3, number)) for number in range(20)]

    assert list(levels(columns).values()) == pytest.approx([ERROR_RATE / 20] * 20)


def test_what_is_shown_hands_its_share_on() -> None:
    """The plain difference is not asked for again; the others have it easier."""
    quiet = [pairs(f"m{number}", noise(5, number)) for number in range(4)]
    shown = pairs("plain", 3 + noise(5))

    alone, beside = levels(quiet), levels([*quiet, shown])

    assert beside["plain"] == pytest.approx(ERROR_RATE / 5)
    assert {name: beside[name] for name in alone} == pytest.approx(alone)


def test_what_never_varies_leaves_its_share() -> None:
    """It cannot be called anything."""
    still = [pairs(f"still_{number}", np.zeros(5)) for number in range(30)]

    assert levels([pairs("a", noise(5)), *still]) == {"a": ERROR_RATE}


def test_the_shares_add_up_to_one() -> None:
    """Headlines have four fifths, if there are others."""
    mixed = weights([*HEADLINES[:2], "a", "b", "c"])

    assert sum(mixed.values()) == pytest.approx(1)
    assert [mixed[name] for name in HEADLINES[:2]] == pytest.approx([0.4, 0.4])
    assert weights(["a", "b"]) == {"a": 0.5, "b": 0.5}
    assert weights(HEADLINES[:2]) == dict.fromkeys(HEADLINES[:2], 0.5)
    assert weights([]) == {}
