"""Table and figures of the evaluation of Boreas, beside what is published."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from stowage_testbed.reproduce.boreas.running import BATCH_S, BoreasRequest, DeploymentRow, plans
from stowage_testbed.reproduce.boreas.scenes import Scene
from stowage_testbed.reproduce.instance.rebuilding import write_tables
from stowage_testbed.run.arm import Arm
from stowage_testbed.text.figure import Figure, at_least, figure, share_percent
from stowage_testbed.text.tables import Table


@dataclass(frozen=True, slots=True)
class Counted:
    """What came of one scene by one arm."""

    scene: Scene
    arm: Arm
    rows: tuple[DeploymentRow, ...]

    @property
    def whole(self) -> tuple[DeploymentRow, ...]:
        """Return the runs in which every pod has a node."""
        return tuple(row for row in self.rows if row.whole)

    @property
    def published(self) -> tuple[float | None, float | None]:
        """Return what the paper has: percent deployed whole, and seconds of a solve."""
        published = self.scene.published
        if published is not None and self.arm.name == "default":
            return published.default_percent, None
        if published is not None and self.arm.name == "stowage":
            return published.boreas_percent, published.solve_s
        return None, None


def counted(request: BoreasRequest, rows: Sequence[DeploymentRow]) -> tuple[Counted, ...]:
    """Return each scene by each arm, in the order that was asked for."""
    by_run = defaultdict[tuple[str, str], list[DeploymentRow]](list)
    for row in rows:
        by_run[row.scene, row.arm].append(row)
    return tuple(
        Counted(scene, arm, tuple(by_run[scene.name, arm.name])) for scene in request.scenes for arm in request.arms
    )


def boreas_figures(found: Sequence[Counted]) -> Iterator[Figure]:
    """Yield how much is deployed whole, and how long plans and deployments took."""
    for one in found:
        name = f"boreas {one.scene.name}, {one.arm.name}"
        percent, theirs_s = one.published
        yield figure(
            f"{name}: deployed whole", "%",
            [float(row.whole) for row in one.rows], share_percent,
            at_least(100, "%") if one.arm.name == "stowage" else None,
            spread=False, prototype="" if percent is None else f"{percent:g} %",
        )  # fmt: skip
        if plans(one.arm):
            yield figure(
                f"{name}: solve", "s", [row.solve_s for row in one.whole], fmean,
                prototype="" if theirs_s is None else f"{theirs_s:g} s",
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
    rows = []
    for one in found:
        scene, whole, (percent, theirs_s) = one.scene, one.whole, one.published
        used = sorted(row.nodes_used for row in whole)
        solve, took = (
            f"{fmean(seconds):.2f} s" if seconds else "none"
            for seconds in ([row.solve_s for row in whole], [row.took_s for row in whole])
        )
        rows.append(
            (
                f"{scene.name} ({scene.about})", str(scene.nodes), str(scene.pods), one.arm.name,
                f"{len(whole)} of {len(one.rows)}", "" if percent is None else f"{percent:g} %",
                "-".join(str(nodes) for nodes in dict.fromkeys((*used[:1], *used[-1:]))) or "none",
                solve if plans(one.arm) else "", "" if theirs_s is None else f"{theirs_s:.2f} s", took,
            )
        )  # fmt: skip
    return Table(
        title="Boreas: deployments that need to be planned whole",
        headers=HEADERS,
        rows=tuple(rows),
        notes=(
            "Deployed whole: every pod got a node, of so many runs. All Deployments "
            "are created at once, as `kubectl create -f` of the authors' folders does. "
            f"Batches wait {BATCH_S:g} s for more pods (published: 30 s), which is "
            "part of the time until all are placed.",
            "The published runs are of Kubernetes 1.19 on twelve machines; today's "
            "scheduler weighs nodes otherwise, so that its counts need not be theirs.",
        ),
    )


def write_report(path: Path, figures_file: Path, request: BoreasRequest, rows: Sequence[DeploymentRow]) -> str:
    """Write a table to the folder ``path`` and the figures as JSON; return what a terminal shows."""
    found = counted(request, rows)
    tables, figures = [boreas_table(found)], list(boreas_figures(found))
    facts = {"scope": request.document()}
    return write_tables(path, figures_file, tables, figures, facts)
