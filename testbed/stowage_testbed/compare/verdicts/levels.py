"""How often the interval of each metric may miss, so that verdicts hold together."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from stowage_testbed.compare.verdicts.family import family_of, judged, weights
from stowage_testbed.compare.verdicts.interval import student_interval
from stowage_testbed.compare.verdicts.null_tables import DRAWS, null_p_values
from stowage_testbed.compare.verdicts.pairs import Floats, Pairs

ERROR_RATE = 0.04
"""One comparison of an arm with itself in twenty may call a metric better or worse; the
fifth part is left for what the bootstrap does not know: correlations are estimated, and
changes are not quite normal."""

Places = npt.NDArray[np.intp]
"""Which of the metrics."""

SEED = 6
"""Of the bootstrap: the same runs give the same verdicts, wherever they are judged."""


def levels(
    pairs: Sequence[Pairs], headlines: Collection[str], draws: int = DRAWS
) -> dict[str, float]:
    """Return the level of every judged metric, by its name.

    Step by step (Holm; Westfall and Young): metrics whose intervals leave out "no
    change" at their share of the error keep that level, and what they had goes to the
    others, until nothing is added.
    """
    family = judged(pairs)
    shares = weights([one.metric.name for one in family], headlines)
    drawn = _Drawn(family, draws)
    found: dict[str, float] = {}
    left = np.arange(len(family))
    while left.size:
        level = drawn.levels(left, shares[left] / shares[left].sum())
        shown = np.array(
            [_shows(family[i], at) for i, at in zip(left, level, strict=True)]
        )
        # At the last step, those that are left keep what they have.
        settled = shown if shown.any() else ~shown
        for i, at in zip(left[settled], level[settled], strict=True):
            found[family[i].metric.name] = float(at)
        left = left[~settled]
    return found


def _shows(pairs: Pairs, level: float) -> bool:
    return student_interval(
        pairs.changes, pairs.rounding_variance, level
    ).leaves_out_zero


class _Drawn:
    """What the bootstrap knows of a family of metrics.

    It takes in those that vary and have all rounds. Of the others, those that are the
    same in all runs cannot be called anything and leave their share; those that lack
    rounds, or changed by the very same in each, do not show how they correlate with
    the rest, and keep Bonferroni's share.
    """

    def __init__(self, family: Sequence[Pairs], draws: int) -> None:
        rounds = max((len(one.changes) for one in family), default=0)
        self._varying = np.array(
            [
                len(one.changes) == rounds and float(np.ptp(one.changes)) > 0
                for one in family
            ],
            dtype=bool,
        )
        self._still = np.array([not one.changes.any() for one in family], dtype=bool)
        self._values = np.empty((draws, len(family)))
        if self._varying.any():
            chosen = [
                one for one, goes in zip(family, self._varying, strict=True) if goes
            ]
            self._values[:, self._varying] = null_p_values(
                np.stack([one.changes for one in chosen], axis=1),
                [family_of(one.metric.name) for one in chosen],
                np.random.default_rng(SEED),
                draws,
            )

    def levels(self, left: Places, weight: Floats) -> Floats:
        """Return the level of each remaining metric; their weights add up to 1."""
        varying, still = self._varying[left], self._still[left]
        found = ERROR_RATE * weight
        if varying.any():
            # Of the error, what the metrics outside of the bootstrap do not need.
            rate = ERROR_RATE * (1 - float(weight[~varying & ~still].sum()))
            smallest = (self._values[:, left[varying]] / weight[varying]).min(axis=1)
            bound = rate / float(weight[varying].sum())
            found[varying] = weight[varying] * max(
                float(np.quantile(smallest, rate)), bound
            )
        return np.minimum(found, ERROR_RATE)
