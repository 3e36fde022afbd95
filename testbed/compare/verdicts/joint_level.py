"""The level at which every metric can be judged so that all intervals hold together."""

from __future__ import annotations

import numpy as np
from scipy.special import stdtr

from testbed.compare.verdicts.pairs import Floats

DRAWS = 10_000
"""Tables drawn: the level's own error is then about a twentieth of it."""

CHUNK = 1_000
"""Tables drawn at once, to bound the memory."""


def joint_level(
    changes: Floats,
    weights: Floats,
    error_rate: float,
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> float:
    """Return the level that times its weight is the level of each metric.

    Tables like the one measured are drawn, normal and without any change; in each, the
    metric with the smallest p-value for its weight is the one that would be called
    first. The level is what that value stays under in ``error_rate`` of the tables, and
    never below Bonferroni's bound.

    Parameters
    ----------
    changes
        Shape (rounds, metrics); every column varies.
    weights
        Shape (metrics,); only their proportions count.
    """
    patterns = _patterns(changes)
    rounds, metrics = patterns.shape
    own = np.sqrt(_shrinkage(patterns))
    shared = np.sqrt(1 - own**2)
    smallest = np.empty(draws)
    for begin in range(0, draws, CHUNK):
        size = min(CHUNK, draws - begin)
        table = rng.standard_normal((size, rounds, rounds)) @ patterns
        table *= shared
        table += own * rng.standard_normal((size, rounds, metrics))
        errors = table.std(axis=1, ddof=1) / np.sqrt(rounds)
        values = 2 * stdtr(rounds - 1, -np.abs(table.mean(axis=1) / errors))
        smallest[begin : begin + size] = (values / weights).min(axis=1)
    found = float(np.quantile(smallest, error_rate))
    return max(found, error_rate / float(weights.sum()))


def _patterns(changes: Floats) -> Floats:
    """Return each metric's deviations from its mean, with length 1.

    Rounds and signs are put in an order of their own, so that neither the order of the
    rounds nor which arm is the baseline has a say in the draws.
    """
    deviations = changes - changes.mean(axis=0)
    patterns = deviations / np.linalg.norm(deviations, axis=0)
    largest = np.abs(patterns).argmax(axis=0)
    patterns *= np.sign(patterns[largest, np.arange(patterns.shape[1])])
    order = np.lexsort(patterns.T[::-1])
    return np.asarray(patterns[order], dtype=np.float64)


def _shrinkage(patterns: Floats) -> float:
    """Return how much of the correlations is to be given up, from 0 to 1.

    The share of their mean square that chance accounts for, which is Schäfer and
    Strimmer's optimum: where metrics have none, the square of a correlation is on
    average 1 / (rounds - 1).
    """
    rounds, metrics = patterns.shape
    if metrics == 1:
        return 0.0
    if rounds == 2:  # noqa: PLR2004 - between two points every correlation is 1
        return 1.0
    squares = (patterns.T @ patterns) ** 2
    found = float(squares.sum() - metrics) / (metrics * (metrics - 1))
    chance = 1 / (rounds - 1)
    if found <= chance:
        return 1.0
    real = (found - chance) / (1 - chance)
    return float(max(0.0, 1 - real / found))
