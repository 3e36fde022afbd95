"""The paper's evaluation as figures with targets, tables, and one page that works offline; begin with `PAPER`."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from statistics import fmean, median
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.patches import Patch

from stowage_optimizer.model.options import DEFAULT_STRATEGY
from stowage_testbed.base.files import write_whole
from stowage_testbed.page.offline import offline_page
from stowage_testbed.reproduce.drawing import SETTINGS, picture
from stowage_testbed.reproduce.paper.evaluation import (
    PUBLISHED,
    SEEDS_TRIED,
    Baseline,
    Categorised,
    Category,
    Evaluation,
    InstanceRow,
    Shares,
    category,
    find_instance,
    headline_sentences,
    headline_table,
    shares,
    shown_limit,
    table_1,
)
from stowage_testbed.reproduce.paper.live import LiveRow, full_ratio, live_rows, live_table, ratio
from stowage_testbed.reproduce.rebuilding import PENDING, Rebuilding, Shown, failures_figure, losses_figure
from stowage_testbed.reproduce.sweep import Header
from stowage_testbed.scenario.instances import NODES, PODS_PER_NODE, PRIORITIES, USAGES_PERCENT, Family, grid
from stowage_testbed.text.figure import Figure, at_least, at_most, figure, share_percent

PAGE = "index.html"
STRATEGY = "paper"

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
                hits = [float(category(one, baseline) in wanted) for one in found]
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
    known = shares(_list_instances(evaluation), Baseline.STOCK)
    no_calls = None if known is None else 100 * known[Category.NO_CALLS]
    yield Figure("stock scheduler places all (No Calls)", no_calls, "%")
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


STYLES = {
    Category.BETTER_OPTIMAL: ("#3a923a", ""),
    Category.BETTER: ("#e1812c", "////"),
    Category.DEFAULT_OPTIMAL: ("#3274a1", "...."),
    Category.NO_CALLS: ("#f2d15c", ""),
    Category.FAILURES: ("#b5b5b5", "xxxx"),
}
"""Green, orange, blue, yellow and grey, as the paper's text names them; hatches are for printing in grey."""

GROUP = 0.84
"""Of the distance between two sizes; the rest is white."""

BAR = 0.8


def page(evaluation: Evaluation, live: tuple[LiveRow, ...], header: Header) -> str:
    """Return the evaluation as HTML that loads nothing from anywhere."""
    solved, limit = evaluation.solved, f"{shown_limit(evaluation):g} s"
    failures = [one.result.optimal and category(one, Baseline.STOCK) is Category.FAILURES for one in solved]
    calls = []
    for limit_s, strategy, found in evaluation.groups():
        took_s = [one.result.wall_s for one in found if category(one, Baseline.STOCK) is not Category.NO_CALLS]
        if took_s:
            calls.append(f"{strategy} at {limit_s:g} s: {fmean(took_s):.2f} s, at most {max(took_s):.2f} s")
    with mpl.rc_context(SETTINGS):
        return offline_page(
            "paper",
            images=True,
            evaluation=evaluation,
            header=header,
            limits=", ".join(f"{limit:g} s" for limit in evaluation.limits_s),
            sentences=headline_sentences(evaluation),
            headlines=[headline_table(evaluation, one) for one in Baseline],
            figures_3=[
                picture(
                    f"Strategy {strategy}, against the {baseline} scheduler; one bar a limit, usages together.",
                    figure_3(evaluation, strategy, baseline),
                )
                for baseline in Baseline
                for strategy in evaluation.strategies
            ],
            figures_4=[
                picture(
                    f"Strategy {strategy} at {limit}, against the stock scheduler; 4 pods a node, 4 priorities.",
                    figure_4(evaluation, strategy),
                )
                for strategy in evaluation.strategies
            ],
            table_1=table_1(evaluation),
            live=live_table(live),
            stock=_count_stock(evaluation),
            calls="; ".join(calls) or "none",
            optimal_failures=sum(failures),
            cores=" or ".join(map(str, sorted({one.result.cores for one in solved}))) or "no",
            seeds_tried=SEEDS_TRIED,
        )


def _make_panels(rows: int, columns: int, height: float) -> tuple[Drawing, Any]:
    """Return a picture with its legend, and its grid of axes."""
    drawing = Drawing(figsize=(9.5, height), layout="constrained")
    handles = [
        Patch(facecolor=face, hatch=hatch, edgecolor="white", label=one) for one, (face, hatch) in STYLES.items()
    ]
    drawing.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False)
    return drawing, drawing.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)


def _draw_bars(axes: Axes, bars: Sequence[tuple[float, str, Shares | None]], width: float, **style: Any) -> None:
    """Draw the shares of each bar as a stack at its place, above its label; nothing where there are none."""
    for place, _, known in bars:
        bottom = 0.0
        for one, share in (known or {}).items():
            colour, hatch = STYLES[one]
            axes.bar(
                place, 100 * share, width, bottom=bottom, color=colour, hatch=hatch, edgecolor="white", linewidth=0.4
            )
            bottom += 100 * share
    axes.set_xticks([place for place, _, _ in bars], [label for _, label, _ in bars], **style)
    axes.set_xlim(-0.5, len(NODES) - 0.5)
    axes.set_ylim(0, 100)
    axes.grid(visible=False, axis="x")


def figure_3(evaluation: Evaluation, strategy: str, baseline: Baseline) -> Drawing:
    """Return a grid of grouped, stacked bars: one bar a limit, usages together."""
    drawing, panels = _make_panels(len(PODS_PER_NODE), len(PRIORITIES), 5.2)
    limits = evaluation.limits_s
    width = GROUP / len(limits)
    for (row, pods), (column, priorities) in product(enumerate(PODS_PER_NODE), enumerate(PRIORITIES)):
        bars = []
        for (place, nodes), (number, limit_s) in product(enumerate(NODES), enumerate(limits)):
            chosen = _choose(evaluation.of(strategy, limit_s), pods_per_node=pods, priorities=priorities, nodes=nodes)
            label = f"{limit_s:g} s" + (f"\n{nodes} nodes" if number == len(limits) // 2 else "")
            bars.append((place + (number - (len(limits) - 1) / 2) * width, label, shares(chosen, baseline)))
        axes = panels[row][column]
        _draw_bars(axes, bars, width, fontsize=7)
        if row == 0:
            axes.set_title(f"{priorities} {'priority' if priorities == 1 else 'priorities'}")
        if column == 0:
            axes.set_ylabel(f"{pods} pods a node\ninstances (%)")
    return drawing


def figure_4(evaluation: Evaluation, strategy: str) -> Drawing:
    """Return one panel a usage, one stacked bar a size: 4 pods a node, 4 priorities, 10 s or the longest limit."""
    found = evaluation.of(strategy, shown_limit(evaluation))
    drawing, (panels,) = _make_panels(1, len(USAGES_PERCENT), 3.0)
    for axes, usage in zip(panels, USAGES_PERCENT, strict=True):
        cells = [_choose(found, usage_percent=usage, nodes=nodes, pods_per_node=4, priorities=4) for nodes in NODES]
        bars = [(place, str(nodes), shares(cells[place], Baseline.STOCK)) for place, nodes in enumerate(NODES)]
        _draw_bars(axes, bars, BAR)
        axes.set_xlabel("nodes")
        axes.set_title(f"usage {usage} %")
    panels[0].set_ylabel("instances (%)")
    return drawing


def _choose(found: Iterable[Categorised], **cell: int) -> list[Categorised]:
    """Return the results on instances of a cell."""
    return [one for one in found if all(getattr(one.instance, name) == value for name, value in cell.items())]


def _list_instances(evaluation: Evaluation) -> list[Categorised]:
    """Return one result of each instance."""
    return list({one.instance.case: one for one in evaluation.solved}.values())


def _count_stock(evaluation: Evaluation) -> dict[str, object]:
    """Return what the page says of the stock scheduler; nothing without instances."""
    instances = [one.instance for one in _list_instances(evaluation)]
    if not instances:
        return {}
    placed = sum(PENDING not in one.stock for one in instances)
    better = sum(one.placed_by_priority(one.stock) > one.placed_by_priority(one.start) for one in instances)
    return {
        "instances": len(instances),
        "placed": placed,
        "placed_percent": f"{100 * placed / len(instances):.0f}",
        "better": better,
        "better_percent": f"{100 * better / len(instances):.0f}",
        "preempted": f"{fmean(one.stock_preempted for one in instances):.1f}",
    }


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
    grid=grid(),
    families=(Family.PAPER,),
    strategies=(STRATEGY, DEFAULT_STRATEGY),
    tries=SEEDS_TRIED,
    attempt=find_instance,
    show=show,
)
