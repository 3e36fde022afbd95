"""How often the interval of each metric may miss."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from testbed.compare.verdicts.family import judged, weights
from testbed.compare.verdicts.joint_level import DRAWS, joint_level
from testbed.compare.verdicts.pairs import Pairs

ERROR_RATE = 0.05
"""One comparison of an arm with itself in twenty may call a metric better or worse."""

SEED = 6
"""Of the bootstrap: the same runs give the same verdicts, wherever they are judged."""


def levels(
    pairs: Sequence[Pairs], headlines: Collection[str], draws: int = DRAWS
) -> dict[str, float]:
    """Return the level of every judged metric, by its name.

    The bootstrap takes in the metrics that vary and have all rounds. Of the others,
    those that are the same in all runs cannot be called anything and leave their share;
    those that lack rounds, or changed by the very same in each, do not tell how they
    hang together with the rest, and keep Bonferroni's share.
    """
    family = judged(pairs)
    if not family:
        return {}
    shares = weights([one.metric.name for one in family], headlines)
    rounds = max(len(one.changes) for one in family)
    varying = np.array(
        [len(one.changes) == rounds and np.ptp(one.changes) > 0 for one in family]
    )
    still = np.array([not one.changes.any() for one in family])
    total = np.full(len(family), ERROR_RATE)
    if varying.any():
        total[varying] = joint_level(
            np.stack([family[i].changes for i in np.flatnonzero(varying)], axis=1),
            shares[varying],
            ERROR_RATE * (1 - float(shares[~varying & ~still].sum())),
            np.random.default_rng(SEED),
            draws,
        )
    found = np.minimum(shares * total, ERROR_RATE)
    return {one.metric.name: float(at) for one, at in zip(family, found, strict=True)}
