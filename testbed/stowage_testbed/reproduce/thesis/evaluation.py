"""What of the thesis's evaluation is to be rebuilt, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from stowage_optimizer.model.options import DEFAULT_STRATEGY
from stowage_testbed.instances.cell import Cell
from stowage_testbed.reproduce.instance.evaluation import Evaluation, Solved
from stowage_testbed.reproduce.instance.rebuilding import Rebuilding
from stowage_testbed.reproduce.instance.request import choose_cells
from stowage_testbed.reproduce.sweep.shard import WHOLE, Shard
from stowage_testbed.reproduce.thesis.instances import (
    SelectTask,
    ThesisCase,
    ThesisRow,
    scenario_of,
    thesis_grid,
)
from stowage_testbed.reproduce.thesis.published import LIMITS_S, SAMPLE

OR_TOOLS, Z3 = "cpsat-items", "z3"
WITH_SYMMETRY = {OR_TOOLS: "cpsat-items-symmetry", Z3: "z3-symmetry"}
"""The same with the printed rows for equal pods and nodes."""

STRATEGIES = (OR_TOOLS, Z3, *WITH_SYMMETRY.values(), "paper", DEFAULT_STRATEGY)


@dataclass(frozen=True, slots=True)
class ThesisRequest:
    """Cells, instances a cell, strategies and limits.

    Attributes
    ----------
    labelled
        Also the same cells with affinity and anti-affinity to labels of nodes.
    shard
        The part of the instances that is dealt with here.
    deterministic
        Count work in steps, not seconds.
    """

    cells: tuple[Cell, ...]
    sample: int = SAMPLE
    strategies: tuple[str, ...] = STRATEGIES
    limits_s: tuple[float, ...] = LIMITS_S
    labelled: bool = True
    shard: Shard = WHOLE
    deterministic: bool = False

    def cases(self) -> Sequence[ThesisCase]:
        """Return the shard's cases: first instances of all cells before second ones."""
        kinds = (False, True) if self.labelled else (False,)
        return self.shard.of(
            [
                ThesisCase(cell, number, labelled)
                for number in range(self.sample)
                for cell in self.cells
                for labelled in kinds
            ]
        )

    @classmethod
    def of_document(cls, document: Mapping[str, Any], shard: Shard) -> Self:
        """Return the request that `document` returned this for, and a shard of it."""
        return cls(
            cells=choose_cells(document["cells"], thesis_grid()),
            sample=document["sample"],
            strategies=tuple(document["strategies"]),
            limits_s=tuple(document["limits_s"]),
            labelled=document["labelled"],
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
            "labelled": self.labelled,
            "deterministic": self.deterministic,
        }


@dataclass(frozen=True, slots=True)
class ThesisSolved(Solved[ThesisRow]):
    """A result and its instance."""


ThesisEvaluation = Evaluation[ThesisSolved]
"""All results."""

THESIS = Rebuilding(
    kind="thesis",
    row_type=ThesisRow,
    request_of=ThesisRequest.of_document,
    select=SelectTask,
    scenario_of=scenario_of,
    pair=ThesisSolved,
)
