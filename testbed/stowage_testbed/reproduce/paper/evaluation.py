"""What of the paper's evaluation is to be rebuilt, and its figures with targets, for ``results/reproduce-*.json``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

from stowage_optimizer.model.options import DEFAULT_STRATEGY
from stowage_testbed.base.files import write_whole
from stowage_testbed.reproduce.instance.rebuilding import GridRequest, Rebuilding, Shown, failures_figure, losses_figure
from stowage_testbed.reproduce.paper.instances import (
    SEEDS_TRIED,
    Baseline,
    Categorised,
    Category,
    Evaluation,
    InstanceRow,
    find_instance,
)
from stowage_testbed.reproduce.paper.live import LiveRow, live_rows
from stowage_testbed.reproduce.paper.page import no_calls_percent, page
from stowage_testbed.reproduce.paper.tables import PUBLISHED, full_ratio, headline_table, live_table, ratio, table_1
from stowage_testbed.reproduce.sweep.execution import Header
from stowage_testbed.scenario.instances import Cell, grid
from stowage_testbed.text.figure import Figure, at_least, at_most, figure, share_percent

PAGE = "index.html"

STRATEGY = "paper"


@dataclass(frozen=True, slots=True)
class PaperRequest(GridRequest):
    """What of the paper's evaluation is to be rebuilt."""

    sample: int = 100
    strategies: tuple[str, ...] = (STRATEGY, DEFAULT_STRATEGY)
    limits_s: tuple[float, ...] = (1.0, 10.0, 20.0)

    @staticmethod
    def grid() -> Sequence[Cell]:
        """Return the paper's 96 cells."""
        return grid()


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
    tries=SEEDS_TRIED,
    attempt=find_instance,
    pair=Categorised,
    show=show,
)


FASTER = 100
SHARES = {
    "better": (Category.BETTER, Category.BETTER_OPTIMAL),
    "better and proved optimal": (Category.BETTER_OPTIMAL,),
    "default proved optimal": (Category.DEFAULT_OPTIMAL,),
    "failures": (Category.FAILURES,),
}


def evaluation_figures(evaluation: Evaluation, live: Sequence[LiveRow]) -> Iterator[Figure]:
    """Yield the shares, our strategy against the paper's, the instances, and the live sample."""
    for limit_s, strategy, found in evaluation.groups():
        name = f"{strategy} at {limit_s:g} s"
        for baseline in Baseline:
            said = PUBLISHED["headlines"].get(limit_s) if baseline is Baseline.STOCK else None
            keys = {"better": "better", "default proved optimal": "default_optimal"}
            for what, wanted in SHARES.items():
                hits = [float(one.category(baseline) in wanted) for one in found]
                theirs = f"> {said[keys[what]]:g} %" if said and what in keys else ""
                title = f"{name} against {baseline}: {what}"
                yield figure(title, "%", hits, share_percent, spread=False, prototype=theirs)
        calls = [one.result.wall_s for one in found]
        yield figure(f"{name}: mean call", "s", calls, fmean)
        yield figure(f"{name}: longest call", "s", calls, max)
    for limit_s in evaluation.limits_s:
        pairs = evaluation.pairs(DEFAULT_STRATEGY, STRATEGY, limit_s)
        yield losses_figure(f"ours at {limit_s:g} s: worse than the paper's strategy", pairs)
        wins = [float(ours.worth > theirs.worth) for ours, theirs in pairs]
        name = f"ours at {limit_s:g} s: better than the paper's strategy"
        yield figure(name, "instances", wins, sum, spread=False)
    yield Figure("instances", evaluation.instances, "instances")
    missing = evaluation.missing
    note = ", ".join(f"{cell}: {count}" for cell, count in missing.items())
    yield Figure("cases without such an instance", float(sum(missing.values())), "cases", note=note)
    yield failures_figure("tasks that could not be carried out", evaluation)
    yield Figure("stock scheduler places all (No Calls)", no_calls_percent(evaluation), "%")
    took = {one.instance.case: one.instance.simulated_s for one in evaluation.solved}
    yield figure("simulation of one instance", "s", list(took.values()), median)
    different = [row for row in live if row.difference]
    yield figure(
        "live: placed otherwise than simulated", "instances",
        [float(bool(row.difference)) for row in live], sum, at_most(0), spread=False,
        note="; ".join(f"{row.case}: {row.difference}" for row in different),
    )  # fmt: skip
    target, note = at_least(FASTER, "x"), "with the cluster's start, as the published runs make one for each"
    name = "live: full cluster run over simulation"
    yield figure(name, "x", [full_ratio(row) for row in live], median, target, note=note)
    name, note = "live: on a running cluster over simulation", "nodes made and pods settled"
    yield figure(name, "x", [ratio(row) for row in live], median, note=note)
    fewer = [float(row.executed < row.planned) for row in live]
    yield figure("live: fewer run than the sweep's plan says", "instances", fewer, sum, spread=False)
