"""Table and figures of the evaluation of Boreas, beside what is published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from stowage_testbed.reproduce.boreas.deploying import DeploymentRow
from stowage_testbed.reproduce.boreas.request import BATCH_S, BoreasRequest, Contender
from stowage_testbed.reproduce.boreas.scenes import Scene
from stowage_testbed.reproduce.instance.reporting import write_tables
from stowage_testbed.text.figure import (
    Figure,
    at_least,
    figure,
    share_percent,
)
from stowage_testbed.text.table import Table


@dataclass(frozen=True, slots=True)
class Counted:
    """What came of one scene by one arm."""

    scene: Scene
    contender: Contender
    rows: tuple[DeploymentRow, ...]

    @property
    def whole(self) -> tuple[DeploymentRow, ...]:
        """Return the runs in which every pod has a node."""
        return tuple(row for row in self.rows if row.whole)

    @property
    def solve_s(self) -> float | None:
        """Return the mean seconds of the plans of a whole deployment."""
        return fmean(row.solve_s for row in self.whole) if self.whole else None

    @property
    def took_s(self) -> float | None:
        """Return the mean seconds of a whole deployment."""
        return fmean(row.took_s for row in self.whole) if self.whole else None

    @property
    def nodes_used(self) -> tuple[int, ...]:
        """Return the fewest and the most nodes of a whole deployment."""
        used = [row.nodes_used for row in self.whole]
        return (min(used), max(used)) if used else ()


def counted(
    request: BoreasRequest, rows: Sequence[DeploymentRow]
) -> tuple[Counted, ...]:
    """Return each scene by each arm, in the order that was asked for."""
    return tuple(
        Counted(
            scene,
            contender,
            tuple(
                row
                for row in rows
                if (row.scene, row.arm) == (scene.name, contender.name)
            ),
        )
        for scene in request.scenes
        for contender in request.arms
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


HEADERS = (
    "scene", "nodes", "pods", "scheduler", "deployed whole", "published", "nodes used",
    "solve", "published", "until placed",
)  # fmt: skip


def boreas_table(found: Sequence[Counted]) -> Table:
    """Return a row a scene and scheduler."""
    return Table(
        title="Boreas: deployments that need to be planned whole",
        headers=HEADERS,
        rows=tuple(_row(one) for one in found),
        notes=(
            "Deployed whole: every pod got a node, of so many runs. All Deployments "
            "are created at once, as `kubectl create -f` of the authors' folders does. "
            f"Batches wait {BATCH_S:g} s for more pods (published: 30 s), which is "
            "part of the time until all are placed.",
            "The published runs are of Kubernetes 1.19 on twelve machines; today's "
            "scheduler weighs nodes otherwise, so that its counts need not be theirs.",
        ),
    )


def _row(one: Counted) -> tuple[str, ...]:
    published = one.scene.published
    percent = solve_s = None
    if published is not None and one.contender.name == "default":
        percent = published.default_percent
    elif published is not None and one.contender.name == "stowage":
        percent, solve_s = published.boreas_percent, published.solve_s
    return (
        f"{one.scene.name} ({one.scene.about})",
        str(one.scene.nodes),
        str(one.scene.pods),
        one.contender.name,
        f"{len(one.whole)} of {len(one.rows)}",
        "" if percent is None else f"{percent:g} %",
        _span(one.nodes_used),
        "" if not one.contender.plans else _seconds(one.solve_s),
        "" if solve_s is None else f"{solve_s:.2f} s",
        _seconds(one.took_s),
    )


def _span(used: tuple[int, ...]) -> str:
    return "-".join(str(one) for one in dict.fromkeys(used)) or "none"


def _seconds(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f} s"


def write_report(
    path: Path,
    figures_file: Path,
    request: BoreasRequest,
    rows: Sequence[DeploymentRow],
) -> str:
    """Write the table and the figures, and return what a terminal shows.

    Parameters
    ----------
    path
        The folder of the results.
    figures_file
        Where the figures go, as JSON.
    """
    found = counted(request, rows)
    return write_tables(
        path,
        figures_file,
        [boreas_table(found)],
        list(boreas_figures(found)),
        {"scope": request.document()},
    )
