"""What of the paper's evaluation is to be rebuilt, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from stowage_optimizer.model.options import DEFAULT_STRATEGY
from stowage_testbed.instances.case import Case, Family
from stowage_testbed.instances.cell import Cell, grid
from stowage_testbed.reproduce.instance.rebuilding import Rebuilding
from stowage_testbed.reproduce.instance.request import choose_cells
from stowage_testbed.reproduce.paper.categories import Categorised
from stowage_testbed.reproduce.paper.instances import (
    InstanceRow,
    SelectTask,
    scenario_of,
)
from stowage_testbed.reproduce.sweep.shard import WHOLE, Shard

PUBLISHED_STRATEGY = "paper"
PUBLISHED_LIMITS_S = (1.0, 10.0, 20.0)
PUBLISHED_SAMPLE = 100
"""Instances a cell."""


@dataclass(frozen=True, slots=True)
class PaperRequest:
    """Cells, instances a cell, strategies and limits.

    Attributes
    ----------
    shard
        The part of the instances that is dealt with here.
    deterministic
        Count work in steps, not seconds: the same rows on any machine, but for times.
    """

    cells: tuple[Cell, ...]
    sample: int = PUBLISHED_SAMPLE
    strategies: tuple[str, ...] = (PUBLISHED_STRATEGY, DEFAULT_STRATEGY)
    limits_s: tuple[float, ...] = PUBLISHED_LIMITS_S
    shard: Shard = WHOLE
    deterministic: bool = False

    def cases(self) -> Sequence[Case]:
        """Return the shard's cases: first instances of all cells before second ones."""
        return self.shard.of(
            [
                Case(Family.PAPER, cell, number)
                for number in range(self.sample)
                for cell in self.cells
            ]
        )

    @classmethod
    def of_document(cls, document: Mapping[str, Any], shard: Shard) -> Self:
        """Return the request that `document` returned this for, and a shard of it."""
        return cls(
            cells=choose_cells(document["cells"], grid()),
            sample=document["sample"],
            strategies=tuple(document["strategies"]),
            limits_s=tuple(document["limits_s"]),
            shard=shard,
            deterministic=document["deterministic"],
        )

    def document(self) -> dict[str, Any]:
        """Return what was asked for, as JSON values."""
        return {
            "cells": [cell.name for cell in self.cells],
            "sample": self.sample,
            "strategies": list(self.strategies),
            "limits_s": list(self.limits_s),
            "deterministic": self.deterministic,
        }


PAPER = Rebuilding(
    kind="paper",
    row_type=InstanceRow,
    request_of=PaperRequest.of_document,
    select=SelectTask,
    scenario_of=scenario_of,
    pair=Categorised,
)
