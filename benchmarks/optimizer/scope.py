"""How much is measured: everything, the default part, or a minute's worth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stowage_testbed.instances.case import Case, Family
from stowage_testbed.instances.cell import Cell, grid

LARGE_CELLS = (
    Cell(1000, 8, 1, 95),
    Cell(5000, 8, 1, 95),
    Cell(5000, 8, 4, 95),
    Cell(5000, 8, 4, 105),
)
SMALL_CELLS = (Cell(4, 4, 1, 95), Cell(4, 4, 2, 105))
OVERHEAD_CELL = Cell(32, 8, 4, 95)


@dataclass(frozen=True, slots=True)
class Scope:
    """What a run of the benchmark covers.

    Parameters
    ----------
    name
        Stands in the results.
    cells, large_cells
        Cells of the two grids, and cells of the large instances.
    instances
        Instances a cell, by family.
    quick_s, long_s
        Limits of the strategy under test.
    rival_s
        Limit of the paper's strategy.
    search_s, searched
        Limit of the long searches that try to refute certificates, and on how many
        of the proved instances, those that took longest to prove.
    starts
        Starts of the service, cold and warm each.
    calls
        Calls for the overhead.
    fleet_nodes, fleet_calls
        Nodes of the largest cluster, and calls about it.
    """

    name: str
    cells: tuple[Cell, ...]
    large_cells: tuple[Cell, ...]
    instances: dict[Family, int]
    quick_s: float = 1.0
    long_s: float = 10.0
    rival_s: float = 10.0
    search_s: float = 60.0
    searched: int = 0
    starts: int = 3
    calls: int = 30
    fleet_nodes: int = 5000
    fleet_calls: int = 5

    def grid_cases(self) -> Iterator[Case]:
        """Yield the cases of both grids: first instances of all cells before second.

        A run that is interrupted has then seen every cell alike.
        """
        for number in range(max(self.instances.values())):
            for family in (Family.PAPER, Family.MIX):
                if number < self.instances[family]:
                    yield from (Case(family, cell, number) for cell in self.cells)

    def large_cases(self) -> Iterator[Case]:
        """Yield the large cases."""
        for cell in self.large_cells:
            for number in range(self.instances[Family.LARGE]):
                yield Case(Family.LARGE, cell, number)


DEFAULT = Scope(
    name="default",
    cells=grid(),
    large_cells=LARGE_CELLS,
    # The rival's ten seconds are what takes the time.
    instances={Family.PAPER: 2, Family.MIX: 2, Family.LARGE: 1},
    searched=10,
)

FULL = Scope(
    name="full",
    cells=grid(),
    large_cells=LARGE_CELLS,
    instances={Family.PAPER: 10, Family.MIX: 10, Family.LARGE: 3},
    searched=100,
    starts=5,
    calls=100,
)

SMOKE = Scope(
    name="smoke",
    cells=SMALL_CELLS,
    large_cells=(Cell(50, 8, 1, 95),),
    instances={Family.PAPER: 1, Family.MIX: 1, Family.LARGE: 1},
    quick_s=0.3,
    long_s=1.0,
    rival_s=1.0,
    search_s=2.0,
    searched=1,
    starts=1,
    calls=3,
    fleet_nodes=200,
    fleet_calls=2,
)

SCOPES = {one.name: one for one in (SMOKE, DEFAULT, FULL)}
"""By the name that the command line gives them."""
