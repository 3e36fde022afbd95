"""Figures 3 and 4: stacks of the five categories, in the paper's colours."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from stowage_testbed.instances.cell import NODES, PODS_PER_NODE, PRIORITIES, USAGES_PERCENT
from stowage_testbed.reproduce.paper.categories import Baseline, Category, Evaluation, shares
from stowage_testbed.reproduce.paper.tables import shown_limit

COLOURS = {
    Category.BETTER_OPTIMAL: "#3a923a",
    Category.BETTER: "#e1812c",
    Category.DEFAULT_OPTIMAL: "#3274a1",
    Category.NO_CALLS: "#f2d15c",
    Category.FAILURES: "#b5b5b5",
}
"""Green, orange, blue, yellow and grey, as the paper's text names them."""

HATCHES = {
    Category.BETTER_OPTIMAL: "",
    Category.BETTER: "////",
    Category.DEFAULT_OPTIMAL: "....",
    Category.NO_CALLS: "",
    Category.FAILURES: "xxxx",
}
"""For printing in grey."""

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

HUNDRED = 100


def draw_stack(axes: Axes, x: float, width: float, known: dict[Category, float] | None) -> None:
    """Draw the shares as one bar; nothing where there are none."""
    if known is None:
        return
    bottom = 0.0
    for one, share in known.items():
        axes.bar(
            x, HUNDRED * share, width, bottom=bottom, color=COLOURS[one],
            hatch=HATCHES[one], edgecolor="white", linewidth=0.4,
        )  # fmt: skip
        bottom += HUNDRED * share


def name_categories(figure: Figure) -> None:
    """Put the legend above the picture."""
    figure.legend(
        handles=[
            Patch(facecolor=COLOURS[one], hatch=HATCHES[one], edgecolor="white",
                  label=one.value)
            for one in Category
        ],
        loc="outside upper center", ncols=len(Category), frameon=False,
    )  # fmt: skip


GROUP = 0.84
"""Of the distance between two sizes; the rest is white."""


def figure_3(evaluation: Evaluation, strategy: str, baseline: Baseline) -> Figure:
    """Return a grid of grouped, stacked bars: one bar a limit, usages together."""
    figure = Figure(figsize=(9.5, 5.2), layout="constrained")
    grid = figure.subplots(len(PODS_PER_NODE), len(PRIORITIES), sharex=True, sharey=True, squeeze=False)
    for row, pods in enumerate(PODS_PER_NODE):
        for column, priorities in enumerate(PRIORITIES):
            axes = grid[row][column]
            _draw(axes, evaluation, strategy, baseline, (pods, priorities))
            if row == 0:
                plural = "priority" if priorities == 1 else "priorities"
                axes.set_title(f"{priorities} {plural}")
            if column == 0:
                axes.set_ylabel(f"{pods} pods a node\ninstances (%)")
    name_categories(figure)
    return figure


def _draw(axes: Axes, evaluation: Evaluation, strategy: str, baseline: Baseline, panel: tuple[int, int]) -> None:
    limits = evaluation.limits_s
    width = GROUP / len(limits)
    ticks, labels = [], []
    for place, nodes in enumerate(NODES):
        for number, limit_s in enumerate(limits):
            chosen = [
                one
                for one in evaluation.of(strategy, limit_s)
                if (one.instance.pods_per_node, one.instance.priorities) == panel and one.instance.nodes == nodes
            ]
            x = place + (number - (len(limits) - 1) / 2) * width
            draw_stack(axes, x, width, shares(chosen, baseline))
            ticks.append(x)
            size = f"\n{nodes} nodes" if number == len(limits) // 2 else ""
            labels.append(f"{limit_s:g} s{size}")
    axes.set_xticks(ticks, labels, fontsize=7)
    axes.set_xlim(-0.5, len(NODES) - 0.5)
    axes.set_ylim(0, 100)
    axes.grid(visible=False, axis="x")


FIGURE_4_PODS_PER_NODE = 4
FIGURE_4_PRIORITIES = 4
BAR = 0.8


def figure_4(evaluation: Evaluation, strategy: str, baseline: Baseline) -> Figure:
    """Return one panel a usage, one stacked bar a size; the paper's other parameters.

    They are 4 pods a node, 4 priorities and a limit of 10 s, or the longest that was
    run.
    """
    limit_s = shown_limit(evaluation)
    figure = Figure(figsize=(9.5, 3.0), layout="constrained")
    (panels,) = figure.subplots(1, len(USAGES_PERCENT), sharey=True, squeeze=False)
    for axes, usage in zip(panels, USAGES_PERCENT, strict=True):
        for place, nodes in enumerate(NODES):
            chosen = [
                one
                for one in evaluation.of(strategy, limit_s)
                if one.instance.usage_percent == usage
                and one.instance.nodes == nodes
                and one.instance.pods_per_node == FIGURE_4_PODS_PER_NODE
                and one.instance.priorities == FIGURE_4_PRIORITIES
            ]
            draw_stack(axes, place, BAR, shares(chosen, baseline))
        axes.set_xticks(range(len(NODES)), [str(nodes) for nodes in NODES])
        axes.set_xlabel("nodes")
        axes.set_title(f"usage {usage} %")
        axes.set_xlim(-0.5, len(NODES) - 0.5)
        axes.set_ylim(0, 100)
        axes.grid(visible=False, axis="x")
    panels[0].set_ylabel("instances (%)")
    name_categories(figure)
    return figure
