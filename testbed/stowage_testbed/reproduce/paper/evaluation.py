"""What of the paper's evaluation is to be rebuilt, and what is shown of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stowage_optimizer.model.options import DEFAULT_STRATEGY
from stowage_testbed.base.whole_file import write_whole
from stowage_testbed.instances.case import Case, Family
from stowage_testbed.instances.cell import Cell, grid
from stowage_testbed.reproduce.instance.rebuilding import Rebuilding, Shown
from stowage_testbed.reproduce.instance.request import GridRequest
from stowage_testbed.reproduce.paper import published
from stowage_testbed.reproduce.paper.categories import Baseline, Categorised, Evaluation
from stowage_testbed.reproduce.paper.figures import evaluation_figures
from stowage_testbed.reproduce.paper.instances import InstanceRow, SelectTask
from stowage_testbed.reproduce.paper.live import live_rows
from stowage_testbed.reproduce.paper.page.page import page
from stowage_testbed.reproduce.paper.tables import headline_table, live_table, table_1
from stowage_testbed.reproduce.sweep.folder import Header

PAGE = "index.html"


@dataclass(frozen=True, slots=True)
class PaperRequest(GridRequest[Case]):
    """What of the paper's evaluation is to be rebuilt."""

    sample: int = published.SAMPLE
    strategies: tuple[str, ...] = (published.STRATEGY, DEFAULT_STRATEGY)
    limits_s: tuple[float, ...] = published.LIMITS_S

    @staticmethod
    def grid() -> Sequence[Cell]:
        """Return the paper's 96 cells."""
        return tuple(grid())

    def cases_of(self, cell: Cell, number: int) -> Sequence[Case]:
        """Return the one case of an instance."""
        return (Case(Family.PAPER, cell, number),)


def show(path: Path, evaluation: Evaluation, header: Header) -> Shown:
    """Write the page, and return what else is shown."""
    live = live_rows(path)
    write_whole(path / PAGE, page(evaluation, live, header))
    tables = [*(headline_table(evaluation, one) for one in Baseline), table_1(evaluation), live_table(live)]
    figures = list(evaluation_figures(evaluation, live))
    return tables, figures, f"; page: {path / PAGE}"


PAPER = Rebuilding(
    kind="paper",
    row_type=InstanceRow,
    request_of=PaperRequest.of_document,
    select=SelectTask,
    pair=Categorised,
    show=show,
)
