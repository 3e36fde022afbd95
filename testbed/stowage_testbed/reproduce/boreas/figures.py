"""The evaluation of Boreas as figures with targets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from stowage_testbed.reproduce.boreas.counted import Counted
from stowage_testbed.text.figure import (
    Figure,
    at_least,
    figure,
    share_percent,
)


def boreas_figures(found: Sequence[Counted]) -> Iterator[Figure]:
    """Yield how much is deployed whole, and how long plans and deployments took."""
    for one in found:
        name = f"boreas {one.scene.name}, {one.contender.name}"
        published = one.scene.published
        theirs = ""
        if published is not None and published.boreas_percent is not None:
            percent = (
                published.boreas_percent
                if one.contender.plans
                else published.default_percent
            )
            theirs = f"{percent:g} %"
        yield figure(
            f"{name}: deployed whole", "%",
            [float(row.whole) for row in one.rows], share_percent,
            at_least(100, "%") if one.contender.name == "stowage" else None,
            spread=False, prototype=theirs,
        )  # fmt: skip
        if one.contender.plans:
            solve_s = [row.solve_s for row in one.whole]
            yield figure(
                f"{name}: solve", "s", solve_s, fmean,
                prototype=f"{published.solve_s:g} s" if published else "",
            )  # fmt: skip
        yield figure(f"{name}: until placed", "s", [r.took_s for r in one.whole], fmean)
        yield figure(
            f"{name}: nodes used", "nodes",
            [float(row.nodes_used) for row in one.whole], fmean,
            note=f"at least {one.scene.fewest_nodes} by CPU",
        )  # fmt: skip
