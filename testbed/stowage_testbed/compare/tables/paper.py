"""What the second paper published of its burst benchmark, to stand beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

CITATION = (
    "B. Zhou, S. K. Mondal, Y. Cheng, H. M. D. Kabir, On Optimized Scheduling Scheme "
    "for Rapid Pod Autoscaling in Kubernetes, Applied Sciences 16 (2026) 2481, Table 3"
)

PAPER_NODES = 5
PAPER_PODS = 200


@dataclass(frozen=True, slots=True)
class PaperRow:
    """One line of the paper's Table 3: means of three runs, latencies in ms."""

    scheduler: str
    arm: str
    values: Mapping[str, float]


def _row(scheduler: str, arm: str, *values: float) -> PaperRow:
    names = (
        "t_sched_mean_s",
        "t_sched_p99_s",
        "t_ready_mean_s",
        "t_ready_p99_s",
        "jain_pods",
        "pods_per_node_cv",
    )
    return PaperRow(scheduler, arm, dict(zip(names, values, strict=True)))


TABLE_3 = (
    _row("Default", "default", 1175.0, 2673.3, 4958.3, 8673.3, 0.9919, 0.090),
    _row("Koordinator", "koordinator", 816.7, 2000.0, 4856.7, 11670.0, 0.9806, 0.141),
    _row("YuniKorn", "yunikorn", 1955.0, 4336.7, 11540.0, 26003.3, 0.8793, 0.370),
    _row(
        "Cache-scheduler", "stowage-score-cache",
        801.7, 2000.0, 4818.3, 8670.0, 0.9917, 0.091,
    ),
)  # fmt: skip
"""Five GKE nodes, real containers, timestamps of whole seconds."""


def paper_row(arm: str) -> PaperRow | None:
    """Return the paper's line for the same scheduler."""
    return next((row for row in TABLE_3 if row.arm == arm), None)
