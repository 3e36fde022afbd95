"""What of the thesis's evaluation is to be rebuilt, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stowage_optimizer.model.options import DEFAULT_STRATEGY
from stowage_testbed.instances.cell import Cell
from stowage_testbed.reproduce.instance.rebuilding import Rebuilding
from stowage_testbed.reproduce.instance.request import GridRequest
from stowage_testbed.reproduce.thesis.comparing import ThesisSolved
from stowage_testbed.reproduce.thesis.instances import SelectTask, ThesisCase, ThesisRow, thesis_grid
from stowage_testbed.reproduce.thesis.published import LIMITS_S, SAMPLE
from stowage_testbed.reproduce.thesis.report import OR_TOOLS, WITH_SYMMETRY, Z3, show

STRATEGIES = (OR_TOOLS, Z3, *WITH_SYMMETRY.values(), "paper", DEFAULT_STRATEGY)


@dataclass(frozen=True, slots=True)
class ThesisRequest(GridRequest[ThesisCase]):
    """What of the thesis's evaluation is to be rebuilt, also with labels of nodes."""

    sample: int = SAMPLE
    strategies: tuple[str, ...] = STRATEGIES
    limits_s: tuple[float, ...] = LIMITS_S
    labelled: bool = True

    @staticmethod
    def grid() -> tuple[Cell, ...]:
        """Return the thesis's 64 cells."""
        return thesis_grid()

    def cases_of(self, cell: Cell, number: int) -> Sequence[ThesisCase]:
        """Return an instance's cases: without labels, and with them if wanted."""
        kinds = (False, True) if self.labelled else (False,)
        return [ThesisCase(cell, number, labelled) for labelled in kinds]

    def document(self) -> dict[str, Any]:
        """Return what was asked for, as JSON values."""
        return {**GridRequest.document(self), "labelled": self.labelled}


THESIS = Rebuilding(
    kind="thesis",
    row_type=ThesisRow,
    request_of=ThesisRequest.of_document,
    select=SelectTask,
    pair=ThesisSolved,
    show=show,
)
