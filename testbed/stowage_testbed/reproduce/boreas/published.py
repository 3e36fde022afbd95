"""What Lebesbye, Mauro, Turin and Yu report, with where it stands.

Seed 004: "Boreas - A Service Scheduler for Optimal Kubernetes Deployment", section 4.
"""

from __future__ import annotations

from dataclasses import dataclass

RUNS = 100
"""Repetitions of the minimal and of the affinity test."""


@dataclass(frozen=True, slots=True)
class Published:
    """One test of the paper.

    Attributes
    ----------
    default_percent, boreas_percent
        Runs in which every pod got a node; ``None`` where it is not said.
    solve_s
        Mean seconds that Boreas took to compute the deployment.
    """

    default_percent: float | None
    boreas_percent: float | None
    solve_s: float


MINIMAL = Published(0, 100, 1.82)
AFFINITY = Published(34, 100, 2.15)
AFFINITY_8 = Published(None, None, 2.92)
AFFINITY_12 = Published(None, None, 4.22)
