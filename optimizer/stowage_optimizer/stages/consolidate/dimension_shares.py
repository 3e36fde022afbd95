"""How much each dimension of a node matters at given prices of pods.

The program over fractions of pods tells. With the right mix of dimensions hardly any
search for the best content of a node is cut off.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from stowage_optimizer.bounds.aggregate_relaxation import room_shares
from stowage_optimizer.bounds.groups import Groups
from stowage_optimizer.bounds.highs import LinearProgram
from stowage_optimizer.bounds.master import Patterns
from stowage_optimizer.bounds.phase import SCALE, Floats
from stowage_optimizer.model.problem import Ints


@dataclass(slots=True)
class Mixes:
    """Finds the mix of each group.

    Parameters
    ----------
    left_s
        Returns the seconds that are left.
    """

    groups: Groups
    left_s: Callable[[], float]
    _kind: Ints = field(init=False)
    _program: LinearProgram = field(init=False)

    def __post_init__(self) -> None:
        groups = self.groups
        at, self._kind = np.nonzero(groups.come)
        number, rooms = len(at), groups.room.size
        pods = Patterns(at, np.arange(number), self._kind, np.zeros_like(at), np.ones_like(at))
        demand = groups.demand[self._kind]
        fit = np.where(demand > 0, groups.room[at] // np.maximum(demand, 1), 2**31)
        upper = np.minimum(groups.come[at, self._kind], fit.min(axis=1)).astype(float)
        self._program = LinearProgram(np.full(rooms, -np.inf), np.ones(rooms), presolve="off")
        nodes = np.ones_like(groups.size)
        self._program.add_columns(np.zeros(number), upper, [*room_shares(groups, pods, nodes, 0)])

    def __call__(self, value: Ints) -> Floats:
        """Return the mixes at values by kind, shape ``(groups, dimensions)``."""
        self._program.change_costs(-value[self._kind] / SCALE)
        found, shape = self._program.minimum(self.left_s()), self.groups.room.shape
        mixes = np.zeros(shape) if found is None else np.maximum(0, -found.dual).reshape(shape)
        total = mixes.sum(axis=1, keepdims=True)
        shares: Floats = np.full_like(mixes, 1 / shape[1])
        np.divide(mixes, total, out=shares, where=total > 0)
        return shares
