"""Figure 4: the categories by usage, in plain bars: in three dimensions they hide."""

from __future__ import annotations

from matplotlib.figure import Figure

from stowage_testbed.instances.cell import NODES, USAGES_PERCENT
from stowage_testbed.reproduce.paper.categorised import Evaluation, shares
from stowage_testbed.reproduce.paper.category import Baseline
from stowage_testbed.reproduce.paper.plots.stack import draw_stack, name_categories

PODS_PER_NODE = 4
PRIORITIES = 4
PUBLISHED_LIMIT_S = 10.0
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
                and one.instance.pods_per_node == PODS_PER_NODE
                and one.instance.priorities == PRIORITIES
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


def shown_limit(evaluation: Evaluation) -> float:
    """Return the published limit if it was run, else the longest."""
    if PUBLISHED_LIMIT_S in evaluation.limits_s:
        return PUBLISHED_LIMIT_S
    return max(evaluation.limits_s)
