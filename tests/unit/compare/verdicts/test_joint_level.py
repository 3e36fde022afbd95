"""The level that all intervals share."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.compare.verdicts.joint_level import joint_level
from testbed.compare.verdicts.pairs import Floats


def level(changes: Floats, weights: Floats | None = None) -> float:
    metrics = changes.shape[1]
    shares = np.full(metrics, 1 / metrics) if weights is None else weights
    return joint_level(changes, shares, 0.05, np.random.default_rng(1))


def test_one_metric_keeps_the_whole_error() -> None:
    """There is nothing to share it with."""
    changes = np.random.default_rng(2).normal(size=(5, 1))

    assert level(changes) == pytest.approx(0.05, rel=0.15)


def test_metrics_that_are_one_and_the_same_do_not_pay_for_each_other() -> None:
    """Ten names of one number are one question, if there are rounds to know it from."""
    column = np.random.default_rng(2).normal(size=(40, 1))

    assert level(np.tile(column, 10)) == pytest.approx(0.5, rel=0.2)


def test_metrics_without_relation_pay_in_full() -> None:
    """Bonferroni's bound is then nearly what is needed, and is never undercut."""
    changes = np.random.default_rng(2).normal(size=(10, 20))

    assert level(changes) == pytest.approx(0.05, rel=0.1)


def test_three_rounds_are_not_believed_to_show_relations() -> None:
    """Any three points of two metrics look related."""
    changes = np.random.default_rng(2).normal(size=(3, 20))

    assert level(changes) < 0.07


def test_only_the_proportions_of_weights_count() -> None:
    """A metric that left its share leaves it to all others alike."""
    changes = np.random.default_rng(2).normal(size=(5, 2))

    whole = level(changes, np.array([0.5, 0.5]))
    half = level(changes, np.array([0.25, 0.25]))

    assert half == pytest.approx(2 * whole)
