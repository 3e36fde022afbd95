"""The linear program over contents of nodes: how often each should be there.

Its duals are the prices at which contents that it may lack are looked for (Gilmore and
Gomory 1961).
"""

from dataclasses import dataclass, field

import highspy
import numpy as np

from stowage_optimizer.bounds.highs import Entries, Program, by_column, solved, solver_of
from stowage_optimizer.bounds.question import Floats
from stowage_optimizer.model.problem import Indices, Ints
from stowage_optimizer.stages.consolidate.fleet import Fleet

MISSING = 16.0
"""Cost of a pod without a node, in the dearest nodes: only to know prices where pods
are left."""

NEGLIGIBLE = 1e-6
"""A content that is worth so little more than it costs brings nothing."""

DUAL, PRIMAL = 1, 4
"""HiGHS's numbers of the simplex that goes on when rows change, or columns only."""


@dataclass(frozen=True, slots=True)
class Solved:
    """The optimum: its cost, prices by kind and by group, and how often each is used.

    What costs is counted in typical nodes of the fleet.

    Parameters
    ----------
    pod, node
        Prices of a pod of each kind, and of a node of each group.
    used
        By content, shape ``(contents,)``.
    """

    cost: float
    pod: Floats
    node: Floats
    used: Floats


@dataclass(slots=True)
class KnownContents:
    """Contents, and the program over them.

    Rows: pods of each kind that need a node, and nodes of each group. Columns: pods
    without a node of each kind, and contents.

    Attributes
    ----------
    group, content
        Of each content, shapes ``(contents,)`` and ``(contents, kinds)``.
    """

    fleet: Fleet
    group: Ints = field(init=False)
    content: Indices = field(init=False)
    _solver: highspy.Highs = field(init=False)
    _cost: Floats = field(init=False)
    _known: set[tuple[int, bytes, bytes]] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        kinds, groups = len(self.fleet.count), len(self.fleet.size)
        self.group = np.zeros(0, np.int64)
        self.content = np.zeros((0, kinds), np.int32)
        every = np.arange(kinds)
        self._cost = self.fleet.cost / self.fleet.typical
        self._solver = solver_of(
            Program(
                cost=np.full(kinds, MISSING * max(1.0, self._cost.max())),
                upper=np.full(kinds, np.inf),
                low=np.concatenate([self.fleet.count, np.full(groups, -np.inf)]),
                high=np.concatenate([np.full(kinds, np.inf), self.fleet.size]),
                entries=[Entries(every, every, np.ones(kinds))],
            ),
            presolve="off",
            simplex_strategy=PRIMAL,
        )

    def add(self, group: Ints, content: Indices) -> bool:
        """Add contents that are not known; return whether there were any."""
        new = []
        for number, one in enumerate(group.tolist()):
            has = np.flatnonzero(content[number])
            name = one, has.tobytes(), content[number, has].tobytes()
            if name not in self._known:
                self._known.add(name)
                new.append(number)
        if not new:
            return False
        group, content = group[new], content[new]
        self.group = np.concatenate([self.group, group])
        self.content = np.concatenate([self.content, content])
        at, kind = np.nonzero(content)
        every = np.arange(len(new))
        entries = [
            Entries(kind, at, content[at, kind].astype(float)),
            Entries(len(self.fleet.count) + group, every, np.ones(len(new))),
        ]
        starts, rows, values = by_column(entries, len(new))
        self._solver.addCols(
            len(new), self._cost[group], np.zeros(len(new)),
            np.full(len(new), np.inf), len(rows), starts[:-1], rows, values,
        )  # fmt: skip
        return True

    def gain(self, found: Solved, group: Ints, content: Indices) -> Floats:
        """Return how much each content is worth beyond what it costs."""
        return content @ found.pod - self._cost[group] - found.node[group]

    def ask(self, count: Ints, size: Ints) -> None:
        """Have the program be about so many pods, and nodes."""
        rows = np.arange(len(count) + len(size), dtype=np.int32)
        low = np.concatenate([count, np.full(len(size), -np.inf)])
        high = np.concatenate([np.full(len(count), np.inf), size])
        self._solver.changeRowsBounds(len(rows), rows, low, high)
        self._solver.setOptionValue("simplex_strategy", DUAL)

    def ask_all(self) -> None:
        """Have the program be about all pods and nodes again, as in the beginning."""
        self.ask(self.fleet.count, self.fleet.size)
        self._solver.setOptionValue("simplex_strategy", PRIMAL)

    def solve(self, limit_s: float) -> Solved | None:
        """Return the optimum; None if it was not found in time."""
        if not solved(self._solver, limit_s):
            return None
        found, kinds = self._solver.getSolution(), len(self.fleet.count)
        dual = np.array(found.row_dual)
        return Solved(
            self._solver.getInfo().objective_function_value,
            np.maximum(0, dual[:kinds]),
            np.maximum(0, -dual[kinds:]),
            np.array(found.col_value)[kinds:],
        )
