"""How much is measured: everything, what fits into an hour, or a minute's worth."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from benchmarks.live.cell import FIVE_THOUSAND, Cell, Part, case, grid_cell, moving

CHURNS = (0, 10, 100)
PERCENTS = (1, 5, 10)
PROBE_PER_S = 4
"""So few that they cost nothing, and so many that the longest hold shows."""

SIZES = (100, 1000, FIVE_THOUSAND)


@dataclass(frozen=True, slots=True)
class Scope:
    """What a run of the benchmark covers."""

    name: str
    cells: tuple[Cell, ...]


_NAMED = (
    case("500 nodes, 249 moves", 500, 50),
    moving(
        Part.MOVES, "1000 nodes, 2000 moves, 400 workloads", 1000, 2000, 4,
        workloads=400, events_per_s=PROBE_PER_S,
    ),
    moving(
        Part.PENDING, "5000 nodes, 500 pending, 500 moves", FIVE_THOUSAND, 500,
        events_per_s=PROBE_PER_S,
    ),
    moving(
        Part.RATE, "1000 nodes, bursts of 600", 1000, 300, 2,
        burst=600, rounds=5, beside=True,
    ),
    moving(
        Part.CHURN, "5000 nodes, 100 events/s", FIVE_THOUSAND, 100,
        events_per_s=100, rounds=5, beside=True, window_s=60.0,
    ),
)  # fmt: skip

_DEFAULT_GRID = (
    *product((100,), PERCENTS, CHURNS),
    *((1000, 1, churn) for churn in CHURNS),
    (1000, 5, 10), (1000, 10, 0), (1000, 10, 100), (FIVE_THOUSAND, 5, 10),
)  # fmt: skip

SMOKE = Scope(
    "smoke",
    (
        case("60 nodes, 30 moves", 60, 6),
        moving(
            Part.RATE, "100 nodes, bursts of 150", 100, 40,
            burst=150, beside=True,
        ),
        grid_cell(100, 5, 10),
    ),
)  # fmt: skip
DEFAULT = Scope("default", (*_NAMED, *(grid_cell(*one) for one in _DEFAULT_GRID)))
FULL = Scope(
    "full", (*_NAMED, *(grid_cell(*one) for one in product(SIZES, PERCENTS, CHURNS)))
)

SCOPES = {one.name: one for one in (SMOKE, DEFAULT, FULL)}
"""By the name that the command line gives them."""
