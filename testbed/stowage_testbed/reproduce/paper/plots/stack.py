"""A stack of the five categories, in the paper's colours."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from stowage_testbed.reproduce.paper.category import Category

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

HUNDRED = 100


def draw_stack(
    axes: Axes, x: float, width: float, known: dict[Category, float] | None
) -> None:
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
