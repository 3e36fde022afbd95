"""Both tests and all other scenes, beside what is published."""

from __future__ import annotations

from collections.abc import Sequence

from stowage_testbed.reproduce.boreas.arms import BATCH_S
from stowage_testbed.reproduce.boreas.counted import Counted
from stowage_testbed.text.table import Table

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
