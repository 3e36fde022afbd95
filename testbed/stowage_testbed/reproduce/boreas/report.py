"""Table and figures of the evaluation of Boreas, beside what is published."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from stowage_testbed.reproduce.boreas.running import BATCH_S, BoreasRequest, DeploymentRow, Scene, plans
from stowage_testbed.reproduce.instance.rebuilding import write_tables
from stowage_testbed.run.arm import Arm
from stowage_testbed.text.figure import Figure, at_least, figure, share_percent
from stowage_testbed.text.tables import Table

HEADERS = (
    "scene", "nodes", "pods", "scheduler", "deployed whole", "published", "nodes used", "solve", "published",
    "until placed",
)  # fmt: skip
NOTES = (
    "Deployed whole: every pod got a node, of so many runs. All Deployments are created at once, as `kubectl create "
    f"-f` of the authors' folders does. Batches wait {BATCH_S:g} s for more pods (published: 30 s), which is part of "
    "the time until all are placed.",
    "The published runs are of Kubernetes 1.19 on twelve machines; today's scheduler weighs nodes otherwise, so that "
    "its counts need not be theirs.",
)


@dataclass(frozen=True, slots=True)
class Counted:
    """What came of one scene by one arm, and what the paper has: percent deployed whole, and seconds of a solve."""

    scene: Scene
    arm: Arm
    rows: tuple[DeploymentRow, ...]
    percent: float | None = None
    theirs_s: float | None = None

    @property
    def whole(self) -> tuple[DeploymentRow, ...]:
        """The runs in which every pod has a node."""
        return tuple(row for row in self.rows if row.whole)


def counted(request: BoreasRequest, rows: Sequence[DeploymentRow]) -> Iterator[Counted]:
    """Yield each scene by each arm, in the order that was asked for."""
    by_run = defaultdict[tuple[str, str], list[DeploymentRow]](list)
    for row in rows:
        by_run[row.scene, row.arm].append(row)
    for scene in request.scenes:
        for arm in request.arms:
            found, theirs = tuple(by_run[scene.name, arm.name]), scene.published
            if theirs is not None and arm.name == "default":
                yield Counted(scene, arm, found, theirs.default_percent)
            elif theirs is not None and arm.name == "stowage":
                yield Counted(scene, arm, found, theirs.boreas_percent, theirs.solve_s)
            else:
                yield Counted(scene, arm, found)


def boreas_figures(found: Sequence[Counted]) -> Iterator[Figure]:
    """Yield how much is deployed whole, and how long plans and deployments took."""
    for one in found:
        name = f"boreas {one.scene.name}, {one.arm.name}"
        yield figure(
            f"{name}: deployed whole", "%",
            [float(row.whole) for row in one.rows], share_percent,
            at_least(100, "%") if one.arm.name == "stowage" else None,
            spread=False, prototype="" if one.percent is None else f"{one.percent:g} %",
        )  # fmt: skip
        if plans(one.arm):
            theirs = "" if one.theirs_s is None else f"{one.theirs_s:g} s"
            yield figure(f"{name}: solve", "s", [row.solve_s for row in one.whole], fmean, prototype=theirs)
        yield figure(f"{name}: until placed", "s", [row.took_s for row in one.whole], fmean)
        used, note = [float(row.nodes_used) for row in one.whole], f"at least {one.scene.fewest_nodes} by CPU"
        yield figure(f"{name}: nodes used", "nodes", used, fmean, note=note)


def boreas_table(found: Sequence[Counted]) -> Table:
    """Return a row a scene and scheduler."""
    rows = []
    for one in found:
        scene, whole = one.scene, one.whole
        used = sorted(row.nodes_used for row in whole)
        solve, took = (
            f"{fmean(seconds):.2f} s" if seconds else "none"
            for seconds in ([row.solve_s for row in whole], [row.took_s for row in whole])
        )
        rows.append(
            (
                f"{scene.name} ({scene.about})", str(scene.nodes), str(scene.pods), one.arm.name,
                f"{len(whole)} of {len(one.rows)}", "" if one.percent is None else f"{one.percent:g} %",
                "-".join(str(nodes) for nodes in dict.fromkeys((*used[:1], *used[-1:]))) or "none",
                solve if plans(one.arm) else "", "" if one.theirs_s is None else f"{one.theirs_s:.2f} s", took,
            )
        )  # fmt: skip
    return Table("Boreas: deployments that need to be planned whole", HEADERS, tuple(rows), NOTES)


def write_report(path: Path, figures_file: Path, request: BoreasRequest, rows: Sequence[DeploymentRow]) -> str:
    """Write a table to the folder ``path`` and the figures as JSON; return what a terminal shows."""
    found = list(counted(request, rows))
    facts = {"scope": request.document()}
    return write_tables(path, figures_file, [boreas_table(found)], list(boreas_figures(found)), facts)
