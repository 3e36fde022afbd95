"""Ways to merge the dimensions into one."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from stowage_optimizer.search.problem import Ints

STEPS = {1: 1, 2: 12, 3: 6, 4: 4}
"""Into how many parts the shares are cut, by number of dimensions."""

SCARCE = 2
"""Dimensions that are mixed finely where there are more of them than that."""


def mixes_of(demand: Ints, room: Ints) -> NDArray[np.float64]:
    """Return shares of the dimensions that sum to 1, shape ``(mixes, dimensions)``.

    Parameters
    ----------
    demand, room
        By kind and by group, shapes ``(kinds, dimensions)`` and ``(groups,
        dimensions)``: where there are many dimensions, the scarcest are mixed finely
        and each of the others stands alone.
    """
    dimensions = demand.shape[1]
    if dimensions in STEPS:
        return _grid(dimensions)
    need = demand.sum(axis=0) / np.maximum(room.mean(axis=0), 1)
    scarce = np.sort(np.argsort(-need, kind="stable")[:SCARCE])
    fine = np.zeros((len(_grid(SCARCE)), dimensions))
    fine[:, scarce] = _grid(SCARCE)
    return np.vstack([fine, np.eye(dimensions), np.full(dimensions, 1 / dimensions)])


def _grid(dimensions: int) -> NDArray[np.float64]:
    steps = STEPS[dimensions]
    whole = [
        shares
        for shares in product(range(steps + 1), repeat=dimensions)
        if sum(shares) == steps
    ]
    return np.array(whole, float) / steps
