"""What the second paper published of its HPA benchmark; its Table 3 is in `compare`.

Zhou, Mondal, Cheng, Kabir, "On Optimized Scheduling Scheme for Rapid Pod Autoscaling in
Kubernetes", Table 4: one run of each scheduler, a quarter of an hour of load.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

NAMES = ("ttr_s", "p99_peak_s", "p99_mean_s", "ok_rate", "t_ready_most_s")


@dataclass(frozen=True, slots=True)
class PublishedRecovery:
    """One line of the table, with our word for the scheduler."""

    scheduler: str
    values: Mapping[str, float]


def _row(scheduler: str, *values: float) -> PublishedRecovery:
    return PublishedRecovery(scheduler, dict(zip(NAMES, values, strict=True)))


TABLE_4 = {
    "default": _row("Default", 346, 1.962, 1.273, 0.40, 99),
    "koordinator": _row("Koordinator", 191, 2.613, 1.291, 0.43, 105),
    "yunikorn": _row("YuniKorn", 152, 1.823, 1.166, 0.33, 111),
    "stowage-score-cache": _row("Cache-scheduler", 115, 1.872, 1.178, 0.43, 105),
}
