"""What of the paper's evaluation is to be rebuilt, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stowage_optimizer.model.options import DEFAULT_STRATEGY
from stowage_testbed.instances.case import Case, Family
from stowage_testbed.instances.cell import Cell, grid
from stowage_testbed.reproduce.instance.rebuilding import Rebuilding
from stowage_testbed.reproduce.instance.request import GridRequest
from stowage_testbed.reproduce.paper.categories import Categorised
from stowage_testbed.reproduce.paper.instances import (
    InstanceRow,
    SelectTask,
    scenario_of,
)

PUBLISHED_STRATEGY = "paper"
PUBLISHED_LIMITS_S = (1.0, 10.0, 20.0)
PUBLISHED_SAMPLE = 100
"""Instances a cell."""


@dataclass(frozen=True, slots=True)
class PaperRequest(GridRequest[Case]):
    """What of the paper's evaluation is to be rebuilt."""

    sample: int = PUBLISHED_SAMPLE
    strategies: tuple[str, ...] = (PUBLISHED_STRATEGY, DEFAULT_STRATEGY)
    limits_s: tuple[float, ...] = PUBLISHED_LIMITS_S

    @staticmethod
    def grid() -> Sequence[Cell]:
        """Return the paper's 96 cells."""
        return tuple(grid())

    def cases(self) -> Sequence[Case]:
        """Return the shard's cases: first instances of all cells before second ones."""
        return self.shard.of(
            [
                Case(Family.PAPER, cell, number)
                for number in range(self.sample)
                for cell in self.cells
            ]
        )


PAPER = Rebuilding(
    kind="paper",
    row_type=InstanceRow,
    request_of=PaperRequest.of_document,
    select=SelectTask,
    scenario_of=scenario_of,
    pair=Categorised,
)
