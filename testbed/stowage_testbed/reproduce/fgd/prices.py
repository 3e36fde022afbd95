"""What room on each kind of node is worth: the duals of a linear program that knows what fits into single GPUs."""

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

from stowage_testbed.base.errors import StowageError
from stowage_testbed.reproduce.fgd.simulation import PriceArrays
from stowage_testbed.reproduce.fgd.workload import MILLI, Fleet, PodList

UNIT = 10
"""Thousandths of a GPU in a step of its content."""
UNITS = MILLI // UNIT

MOST_SHARE = 2.0
BETTER = 1e-6

Content = dict[int, int]
"""Shares of one GPU: how many of each size, in units."""


def no_prices(fleet: Fleet) -> PriceArrays:
    """Return prices for policies that have none."""
    kinds = len(fleet.kinds)
    return PriceArrays(np.zeros((kinds, UNITS + 1)), np.zeros(kinds), np.zeros(kinds))


def price(pods: PodList, fleet: Fleet) -> PriceArrays:
    """Return the prices at which all classes of the list, each by its frequency, fill the fleet as far as they can.

    The program places the largest common share of the pods, which together ask for all GPUs. Pods are split among kinds
    of nodes, whose CPU, memory and GPUs are summed; shares must fit into single GPUs, whose contents are added while
    one is worth more than a GPU at the program's own prices (column generation).
    """
    program = _Program(pods, fleet)
    while True:
        cpu, memory, gpu, sizes = program.solve()
        gap = np.zeros((len(fleet.kinds), UNITS + 1))
        better = False
        for kind in range(len(fleet.kinds)):
            gap[kind], content = _fill(sizes[kind])
            if gap[kind, UNITS] > gpu[kind] + BETTER:
                program.add(kind, content)
                better = True
        if not better:
            gap[:, UNITS] = np.maximum(gap[:, UNITS], gpu)
            return PriceArrays(gap, cpu, memory)


class _Program:
    """Rows: CPU, memory and GPUs of each kind, then each size of each kind. Columns: the common share, then others."""

    def __init__(self, pods: PodList, fleet: Fleet) -> None:
        self._kinds, self._most = len(fleet.kinds), fleet.gpu_milli
        need = pods.pods
        share = (need.gpus == 1) & (need.gpu_milli < MILLI)
        self.sizes = sorted({units_of(milli) for milli in need.gpu_milli[share].tolist()})
        number = np.bincount(fleet.nodes.kind, minlength=self._kinds)
        room = np.array([kind[:3] for kind in fleet.kinds]) * number[:, None]
        self._room = np.concatenate([room.T.ravel(), np.zeros(self._kinds * len(self.sizes))])
        self._entries: list[tuple[int, int, float]] = []
        self._equal: list[tuple[int, int, float]] = []
        self._columns = 1
        per_load = self._most / float(pods.gpu_milli[pods.class_of].sum())
        row = 0
        for c, count in enumerate(pods.count.tolist()):
            suited = [k for k, kind in enumerate(fleet.kinds) if suits(pods, c, kind)]
            if not suited:
                continue
            self._equal.append((row, 0, -count * per_load))
            for kind in suited:
                self._equal.append((row, self._columns, 1.0))
                self._use(0, kind, float(need.cpu_milli[c]))
                self._use(1, kind, float(need.memory_mib[c]))
                if share[c]:
                    self._use(self._size_row(units_of(int(need.gpu_milli[c]))), kind, 1.0)
                elif need.gpus[c]:
                    self._use(2, kind, float(need.gpus[c]))
                self._columns += 1
            row += 1
        self._classes = row
        for kind in range(self._kinds):
            for size in self.sizes:
                self.add(kind, {size: UNITS // size})

    def add(self, kind: int, content: Content) -> None:
        """Add what a GPU of a kind may hold."""
        self._use(2, kind, 1.0)
        for size, count in content.items():
            self._use(self._size_row(size), kind, -float(count))
        self._columns += 1

    def solve(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[int, float]]]:
        """Return the prices of CPU, memory and GPUs by kind, and of sizes by kind."""
        objective = np.zeros(self._columns)
        objective[0] = -float(self._most)
        found = linprog(
            objective,
            A_ub=self._matrix(self._entries, len(self._room)),
            b_ub=self._room,
            A_eq=self._matrix(self._equal, self._classes),
            b_eq=np.zeros(self._classes),
            bounds=[(0, MOST_SHARE)] + [(0, None)] * (self._columns - 1),
            method="highs",
        )
        if found.status != 0:
            raise StowageError(f"the program of prices has no optimum: {found.message}")
        duals = np.abs(found.ineqlin.marginals).reshape(-1, self._kinds)
        sizes = [dict(zip(self.sizes, duals[3:, kind].tolist(), strict=True)) for kind in range(self._kinds)]
        return duals[0], duals[1], duals[2], sizes

    def _size_row(self, size: int) -> int:
        return 3 + self.sizes.index(size)

    def _use(self, resource: int, kind: int, amount: float) -> None:
        self._entries.append((resource * self._kinds + kind, self._columns, amount))

    def _matrix(self, entries: list[tuple[int, int, float]], rows: int) -> coo_array:
        row, column, amount = zip(*entries, strict=True)
        return coo_array((amount, (row, column)), shape=(rows, self._columns))


def units_of(milli: int) -> int:
    """Return so many thousandths of a GPU in units, rounded up."""
    return -(-milli // UNIT)


def suits(pods: PodList, c: int, kind: tuple[int, int, int, int]) -> bool:
    """Return whether a pod of the class fits on an empty node of the kind."""
    cpu_milli, memory_mib, gpus, model = kind
    need = pods.pods
    room = need.cpu_milli[c] <= cpu_milli and need.memory_mib[c] <= memory_mib and need.gpus[c] <= gpus
    return bool(room and (need.gpus[c] == 0 or need.models[c] >> model & 1))


def _fill(worth: dict[int, float]) -> tuple[np.ndarray, Content]:
    """Return the most that shares are worth in each number of units, and the best content of a whole GPU."""
    best, last = np.zeros(UNITS + 1), [0] * (UNITS + 1)
    for units in range(1, UNITS + 1):
        best[units] = best[units - 1]
        for size, value in worth.items():
            if size <= units and best[units - size] + value > best[units]:
                best[units], last[units] = best[units - size] + value, size
    content, units = Content(), UNITS
    while units > 0:
        size = last[units]
        if size:
            content[size] = content.get(size, 0) + 1
        units -= size or 1
    return best, content
