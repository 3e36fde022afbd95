"""Tables as they would be if the arms were alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import stdtr

from stowage_testbed.compare.verdicts.pairs import Floats

DRAWS = 10_000
"""Tables drawn: a level found from them is good to a twentieth of itself."""

CHUNK = 1_000
"""Tables drawn at once, to bound the memory."""


def null_p_values(
    changes: Floats,
    families: Sequence[str],
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> Floats:
    """Return the p-values of tables that are like the measured one, without a change.

    A parametric bootstrap: normal changes with the measured correlations inside each
    family, shrunk to what that many rounds can know, and none between families.

    Parameters
    ----------
    changes
        Shape (rounds, metrics); every column varies.
    families
        Of each metric.

    Returns
    -------
    Floats
        Shape (draws, metrics), two-sided.
    """
    patterns = _patterns(changes)
    found = np.empty((draws, changes.shape[1]))
    for family in dict.fromkeys(families):
        columns = np.flatnonzero([one == family for one in families])
        own = _ordered(patterns[:, columns])
        for begin in range(0, draws, CHUNK):
            size = min(CHUNK, draws - begin)
            rows = slice(begin, begin + size)
            found[rows, columns] = _drawn(own, rng, size)
    return found


def _drawn(patterns: Floats, rng: np.random.Generator, draws: int) -> Floats:
    """Return the p-values of one family in some tables."""
    rounds, metrics = patterns.shape
    shrinkage = _shrinkage(patterns)
    table = rng.standard_normal((draws, rounds, rounds)) @ patterns
    table *= np.sqrt(1 - shrinkage)
    table += np.sqrt(shrinkage) * rng.standard_normal((draws, rounds, metrics))
    errors = table.std(axis=1, ddof=1) / np.sqrt(rounds)
    values = 2 * stdtr(rounds - 1, -np.abs(table.mean(axis=1) / errors))
    return np.asarray(values, dtype=np.float64)


def _patterns(changes: Floats) -> Floats:
    """Return each metric's deviations from its mean, with length 1 and a fixed sign.

    So which arm is the baseline has no say in the draws.
    """
    deviations = changes - changes.mean(axis=0)
    patterns = deviations / np.linalg.norm(deviations, axis=0)
    largest = np.abs(patterns).argmax(axis=0)
    patterns *= np.sign(patterns[largest, np.arange(patterns.shape[1])])
    return np.asarray(patterns, dtype=np.float64)


def _ordered(patterns: Floats) -> Floats:
    """Return the rounds in an order of their own, so that theirs has no say either."""
    return np.asarray(patterns[np.lexsort(patterns.T[::-1])], dtype=np.float64)


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
