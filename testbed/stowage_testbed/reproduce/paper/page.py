"""The evaluation as one page that works offline: tables, Figures 3 and 4 in the paper's colours, and what differs."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence
from itertools import product
from statistics import fmean
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from stowage_testbed.page.offline import offline_page
from stowage_testbed.reproduce.instance.rows import PENDING
from stowage_testbed.reproduce.paper.instances import SEEDS_TRIED, Baseline, Categorised, Category, Evaluation, shares
from stowage_testbed.reproduce.paper.live import LiveRow
from stowage_testbed.reproduce.paper.tables import headline_sentences, headline_table, live_table, shown_limit, table_1
from stowage_testbed.reproduce.sweep.execution import Header
from stowage_testbed.scenario.instances import NODES, PODS_PER_NODE, PRIORITIES, USAGES_PERCENT

STYLES = {
    Category.BETTER_OPTIMAL: ("#3a923a", ""),
    Category.BETTER: ("#e1812c", "////"),
    Category.DEFAULT_OPTIMAL: ("#3274a1", "...."),
    Category.NO_CALLS: ("#f2d15c", ""),
    Category.FAILURES: ("#b5b5b5", "xxxx"),
}
"""Green, orange, blue, yellow and grey, as the paper's text names them; hatches are for printing in grey."""

SETTINGS: Any = {
    # The stubs want every key as a literal of theirs.
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    # Letters stay letters, and equal pictures are equal files.
    "svg.fonttype": "none",
    "svg.hashsalt": "stowage",
}

GROUP = 0.84
"""Of the distance between two sizes; the rest is white."""

BAR = 0.8


def page(evaluation: Evaluation, live: tuple[LiveRow, ...], header: Header) -> str:
    """Return the evaluation as HTML that loads nothing from anywhere."""
    solved, limit = evaluation.solved, f"{shown_limit(evaluation):g} s"
    failures = [one.result.optimal and one.category(Baseline.STOCK) is Category.FAILURES for one in solved]
    calls = []
    for limit_s, strategy, found in evaluation.groups():
        took_s = [one.result.wall_s for one in found if one.category(Baseline.STOCK) is not Category.NO_CALLS]
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
                _picture(
                    f"Strategy {strategy}, against the {baseline} scheduler; one bar a limit, usages together.",
                    figure_3(evaluation, strategy, baseline),
                )
                for baseline in Baseline
                for strategy in evaluation.strategies
            ],
            figures_4=[
                _picture(
                    f"Strategy {strategy} at {limit}, against the stock scheduler; 4 pods a node, 4 priorities.",
                    figure_4(evaluation, strategy, Baseline.STOCK),
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


def _picture(caption: str, figure: Figure) -> tuple[str, str]:
    """Return the caption, and the figure as SVG in base64."""
    content = io.BytesIO()
    figure.savefig(content, format="svg", metadata={"Date": None})
    return caption, base64.b64encode(content.getvalue()).decode()


def draw_stack(axes: Axes, x: float, width: float, known: dict[Category, float] | None) -> None:
    """Draw the shares as one bar; nothing where there are none."""
    bottom = 0.0
    for one, share in (known or {}).items():
        colour, hatch = STYLES[one]
        axes.bar(x, 100 * share, width, bottom=bottom, color=colour, hatch=hatch, edgecolor="white", linewidth=0.4)
        bottom += 100 * share


def name_categories(figure: Figure) -> None:
    """Put the legend above the picture."""
    handles = [
        Patch(facecolor=face, hatch=hatch, edgecolor="white", label=one) for one, (face, hatch) in STYLES.items()
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False)


def figure_3(evaluation: Evaluation, strategy: str, baseline: Baseline) -> Figure:
    """Return a grid of grouped, stacked bars: one bar a limit, usages together."""
    figure, limits = Figure(figsize=(9.5, 5.2), layout="constrained"), evaluation.limits_s
    grid = figure.subplots(len(PODS_PER_NODE), len(PRIORITIES), sharex=True, sharey=True, squeeze=False)
    width = GROUP / len(limits)
    for (row, pods), (column, priorities) in product(enumerate(PODS_PER_NODE), enumerate(PRIORITIES)):
        axes = grid[row][column]
        ticks, labels = [], []
        for (place, nodes), (number, limit_s) in product(enumerate(NODES), enumerate(limits)):
            chosen = _choose(evaluation.of(strategy, limit_s), pods_per_node=pods, priorities=priorities, nodes=nodes)
            ticks.append(place + (number - (len(limits) - 1) / 2) * width)
            draw_stack(axes, ticks[-1], width, shares(chosen, baseline))
            labels.append(f"{limit_s:g} s" + (f"\n{nodes} nodes" if number == len(limits) // 2 else ""))
        _set_axes(axes, ticks, labels, fontsize=7)
        if row == 0:
            axes.set_title(f"{priorities} {'priority' if priorities == 1 else 'priorities'}")
        if column == 0:
            axes.set_ylabel(f"{pods} pods a node\ninstances (%)")
    name_categories(figure)
    return figure


def figure_4(evaluation: Evaluation, strategy: str, baseline: Baseline) -> Figure:
    """Return one panel a usage, one stacked bar a size: 4 pods a node, 4 priorities, 10 s or the longest limit."""
    found = evaluation.of(strategy, shown_limit(evaluation))
    figure = Figure(figsize=(9.5, 3.0), layout="constrained")
    (panels,) = figure.subplots(1, len(USAGES_PERCENT), sharey=True, squeeze=False)
    for axes, usage in zip(panels, USAGES_PERCENT, strict=True):
        for place, nodes in enumerate(NODES):
            chosen = _choose(found, usage_percent=usage, nodes=nodes, pods_per_node=4, priorities=4)
            draw_stack(axes, place, BAR, shares(chosen, baseline))
        _set_axes(axes, range(len(NODES)), [str(nodes) for nodes in NODES])
        axes.set_xlabel("nodes")
        axes.set_title(f"usage {usage} %")
    panels[0].set_ylabel("instances (%)")
    name_categories(figure)
    return figure


def _choose(found: Iterable[Categorised], **cell: int) -> list[Categorised]:
    """Return the results on instances of a cell."""
    return [one for one in found if all(getattr(one.instance, name) == value for name, value in cell.items())]


def _set_axes(axes: Axes, ticks: Sequence[float], labels: Sequence[str], **style: Any) -> None:
    axes.set_xticks(ticks, labels, **style)
    axes.set_xlim(-0.5, len(NODES) - 0.5)
    axes.set_ylim(0, 100)
    axes.grid(visible=False, axis="x")


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


def no_calls_percent(evaluation: Evaluation) -> float | None:
    """Return the share of instances that the stock scheduler places whole."""
    known = shares(_list_instances(evaluation), Baseline.STOCK)
    return None if known is None else 100 * known[Category.NO_CALLS]
