"""The parts of the benchmark, each of which can be run alone."""

from __future__ import annotations

from enum import StrEnum


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
