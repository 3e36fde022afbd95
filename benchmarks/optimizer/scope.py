"""How much is measured, of which parts, and by which arms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from benchmarks.optimizer.measurement import Call
from benchmarks.scope import Scope, ScopeName
from stowage_optimizer.cli.solve_options import POLICIES
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.instances.case import Case, Family
from stowage_testbed.instances.cell import Cell, grid


class Part(StrEnum):
    """What is measured.

    ``GRID``: both grids, with the paper's strategy beside. ``SEARCH``: long searches by
    another strategy for plans that refute what was proved of the grids. ``LARGE``: the
    large instances. ``SERVICE``: starts, and what a call costs beside the solve.
    """

    GRID = "grid"
    SEARCH = "search"
    LARGE = "large"
    SERVICE = "service"


EVERY_PART = frozenset(Part)


SEED = 1
"""The strategies' own random choices are the same in every run."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One strategy with one limit."""

    role: str
    strategy: str
    time_limit_s: float

    @property
    def name(self) -> str:
        """Return the arm as text, as in ``ours lexicographic 1 s``."""
        return f"{self.role} {self.strategy} {self.time_limit_s:g} s"

    def call(self, case: Case, snapshot: pb.Snapshot) -> Call:
        """Return what the service is asked."""
        options = pb.SolveOptions(
            strategy=self.strategy,
            time_limit_s=self.time_limit_s,
            policy=POLICIES[case.policy],
            seed=SEED,
        )
        request = pb.SolveRequest(snapshot=snapshot, options=options)
        return Call(case.id, self.name, request, case.family is Family.LARGE)


LARGE_CELLS = (
    Cell(1000, 8, 1, 95),
    Cell(5000, 8, 1, 95),
    Cell(5000, 8, 4, 95),
    Cell(5000, 8, 4, 105),
)
SMALL_CELLS = (Cell(4, 4, 1, 95), Cell(4, 4, 2, 105))
OVERHEAD_CELL = Cell(32, 8, 4, 95)


@dataclass(frozen=True, slots=True)
class OptimizerScope(Scope):
    """What a run of the benchmark covers.

    Parameters
    ----------
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


DEFAULT = OptimizerScope(
    name=ScopeName.DEFAULT,
    cells=grid(),
    large_cells=LARGE_CELLS,
    # The rival's ten seconds are what takes the time.
    instances={Family.PAPER: 2, Family.MIX: 2, Family.LARGE: 1},
    searched=10,
)

FULL = OptimizerScope(
    name=ScopeName.FULL,
    cells=grid(),
    large_cells=LARGE_CELLS,
    instances={Family.PAPER: 10, Family.MIX: 10, Family.LARGE: 3},
    searched=100,
    starts=5,
    calls=100,
)

SMOKE = OptimizerScope(
    name=ScopeName.SMOKE,
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

SCOPES = (SMOKE, DEFAULT, FULL)
