"""Ways to merge the dimensions into one."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

STEPS = {1: 1, 2: 12, 3: 6, 4: 4}
"""Into how many parts the shares are cut, by number of dimensions."""


def mixes_of(dimensions: int) -> NDArray[np.float64]:
    """Return shares of the dimensions that sum to 1, shape ``(mixes, dimensions)``."""
    steps = STEPS.get(dimensions)
    if steps is None:
        return np.vstack([np.eye(dimensions), np.full(dimensions, 1 / dimensions)])
    whole = [
        shares
        for shares in product(range(steps + 1), repeat=dimensions)
        if sum(shares) == steps
    ]
    return np.array(whole, float) / steps
