"""The error that all metrics share, and how it is handed on."""

from __future__ import annotations

import numpy as np
import pytest

from stowage_testbed.compare.verdicts.family import HEADLINES, family_of, weights
from stowage_testbed.compare.verdicts.levels import ERROR_RATE, levels
from stowage_testbed.compare.verdicts.null_tables import null_p_values
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
    (level,) = levels([pairs("a", noise(5))], ()).values()

    assert level == pytest.approx(ERROR_RATE, rel=0.15)


def test_metrics_that_are_one_and_the_same_do_not_pay_for_each_other() -> None:
    """Ten names of one number are one question, even with three rounds."""
    column = noise(3)
    same = [pairs(f"t_sched_{number}", column) for number in range(10)]

    assert levels(same, ()).values() == pytest.approx([ERROR_RATE] * 10, rel=0.2)


def test_metrics_of_other_families_pay_in_full() -> None:
    """Three points of two metrics look related whether they are or not."""
    columns = [pairs(f"m{number}", noise(3, number)) for number in range(20)]

    assert levels(columns, ()).values() == pytest.approx(
        [ERROR_RATE / 20] * 20, rel=0.2
    )


def test_chance_relations_inside_a_family_are_not_believed() -> None:
    """Metrics of one family need not hang together."""
    columns = [pairs(f"t_sched_{number}", noise(6, number)) for number in range(20)]

    assert levels(columns, ()).values() == pytest.approx(
        [ERROR_RATE / 20] * 20, rel=0.2
    )


def test_what_is_shown_hands_its_share_on() -> None:
    """The plain difference is not asked for again; the others have it easier."""
    quiet = [pairs(f"m{number}", noise(5, number)) for number in range(4)]
    shown = pairs("plain", 3 + noise(5))

    alone, beside = levels(quiet, ()), levels([*quiet, shown], ())

    assert beside["plain"] == pytest.approx(ERROR_RATE / 5, rel=0.2)
    assert {name: beside[name] for name in alone} == pytest.approx(alone, rel=0.1)


def test_what_never_varies_leaves_its_share() -> None:
    """It cannot be called anything."""
    still = [pairs(f"still_{number}", np.zeros(5)) for number in range(30)]

    found = levels([pairs("a", noise(5)), *still], ())

    assert found["a"] == pytest.approx(ERROR_RATE, rel=0.15)


def test_what_lacks_rounds_keeps_its_own_share() -> None:
    """How it hangs together with the others is not known."""
    found = levels([pairs("a", noise(5)), pairs("b", noise(4))], ())

    assert found["b"] == pytest.approx(ERROR_RATE / 2)
    assert found["a"] == pytest.approx(ERROR_RATE / 2, rel=0.15)


def test_the_shares_add_up_to_one() -> None:
    """Headlines have four fifths, if there are others."""
    mixed = weights([*HEADLINES[:2], "a", "b", "c"])

    assert mixed.sum() == pytest.approx(1)
    assert mixed[:2] == pytest.approx(0.4)
    assert weights(["a", "b"]) == pytest.approx(0.5)
    assert weights(HEADLINES[:2]) == pytest.approx(0.5)
    assert weights([]).size == 0


def test_families_are_of_metrics_from_the_same_observations() -> None:
    """The mean latency and the length of the queue are one thing, by Little's law."""
    assert family_of("t_sched_p99_s") == family_of("waiting_mean_pods")
    assert family_of("jain_cpu") == family_of("pods_per_node_cv")
    assert family_of("placed_pods") == "placed_pods"


def test_p_values_without_a_change_are_uniform() -> None:
    """Whatever the metrics share, each alone is an ordinary test."""
    columns = np.stack([noise(4), noise(4) + 0.2 * noise(4, 3)], axis=1)

    values = null_p_values(columns, ["t_sched_"] * 2, np.random.default_rng(1))

    assert values.shape == (10_000, 2)
    for share in (0.01, 0.05, 0.5):
        assert (values < share).mean(axis=0) == pytest.approx(share, rel=0.25)
