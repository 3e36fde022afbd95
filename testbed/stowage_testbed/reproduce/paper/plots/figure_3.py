"""Figure 3: the categories by cluster size, priorities and pods per node."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stowage_testbed.instances.cell import NODES, PODS_PER_NODE, PRIORITIES
from stowage_testbed.reproduce.paper.categorised import Categorised, Evaluation, shares
from stowage_testbed.reproduce.paper.category import Baseline
from stowage_testbed.reproduce.paper.plots.stack import draw_stack, name_categories

GROUP = 0.84
"""Of the distance between two sizes; the rest is white."""


def figure_3(evaluation: Evaluation, strategy: str, baseline: Baseline) -> Figure:
    """Return a grid of grouped, stacked bars: one bar a limit, usages together."""
    figure = Figure(figsize=(9.5, 5.2), layout="constrained")
    grid = figure.subplots(
        len(PODS_PER_NODE), len(PRIORITIES), sharex=True, sharey=True, squeeze=False
    )
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


def _draw(
    axes: Axes,
    evaluation: Evaluation,
    strategy: str,
    baseline: Baseline,
    panel: tuple[int, int],
) -> None:
    limits = evaluation.limits_s
    width = GROUP / len(limits)
    ticks, labels = [], []
    for place, nodes in enumerate(NODES):
        for number, limit_s in enumerate(limits):
            chosen = [
                one
                for one in evaluation.of(strategy, limit_s)
                if _panel(one) == panel and one.instance.nodes == nodes
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


def _panel(one: Categorised) -> tuple[int, int]:
    return one.instance.pods_per_node, one.instance.priorities
