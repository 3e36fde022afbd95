"""Prices to begin with: those of the knapsack that merges all nodes and resources."""

from __future__ import annotations

import numpy as np

from stowage_optimizer.bounds.groups import Groups
from stowage_optimizer.bounds.master import Duals, Floats
from stowage_optimizer.bounds.mixes import mixes_of
from stowage_optimizer.bounds.scope import Scope


def opening_prices(scope: Scope, groups: Groups) -> Duals | None:
    """Return prices from which to start; None where only staying at home counts.

    A pod is worth 1 and takes room: its price is what is left after paying for the
    room, at the rate of the pod that just no longer fits.
    """
    gain = (scope.objective.placed + scope.objective.running).astype(float)
    if scope.objective.stays.any() or not gain.any():
        return None
    total = np.maximum(groups.size @ groups.room, 1).astype(float)
    best, price = np.inf, np.zeros(len(gain))
    for mix in mixes_of(groups.demand, groups.room):
        weight = np.maximum((groups.demand / total) @ mix, 1e-12)
        rate, value = _critical(gain, weight, scope.count.astype(float))
        if value < best:
            best, price = value, np.maximum(0, gain - rate * weight)
    nothing = np.zeros(len(gain))
    return Duals(price, nothing, np.zeros(len(scope.requirements)))


def _critical(gain: Floats, weight: Floats, count: Floats) -> tuple[float, float]:
    """Return the gain per weight at which the room is full, and the value then."""
    order = np.argsort(-gain / weight, kind="stable")
    filled = np.cumsum((weight * count)[order])
    full = int(np.searchsorted(filled, 1.0, side="right"))
    value = float((gain * count)[order][:full].sum())
    if full == len(order):
        return 0.0, value
    last = order[full]
    rate = float(gain[last] / weight[last])
    return rate, value + rate * (1.0 - (float(filled[full - 1]) if full else 0.0))
