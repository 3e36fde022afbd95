"""Figures of the service itself: starts and overhead."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from benchmarks.optimizer.fleet import LIMIT_S, FleetCall
from benchmarks.optimizer.readiness import Readiness
from stowage_testbed.text.figure import Figure, at_least, at_most, figure


def service_figures(readiness: Readiness) -> Iterator[Figure]:
    """Yield start-up times and the overhead of a call."""
    yield figure(
        "service: cold start to ready", "s", readiness.cold_s, max, at_most(10, "s"),
        note="nothing compiled yet", prototype="7.7-9.3 s (Numba's compiling)",
    )  # fmt: skip
    yield figure(
        "service: warm start to ready", "s", readiness.warm_s, max, at_most(2, "s"),
        prototype="0.3 s (imports and cached code)",
    )  # fmt: skip
    yield figure(
        "service: call beside the solve, 32 nodes", "s", readiness.overhead_s, median,
        at_most(0.02, "s"), note="at the caller, with decoding and verifying",
        prototype="not measured",
    )  # fmt: skip
    yield from _fleet_figures(readiness.fleet)


def _fleet_figures(calls: tuple[FleetCall, ...]) -> Iterator[Figure]:
    """Yield what a call about the largest cluster takes, stage by stage."""
    yield figure(
        "fleet: reading", "s", [one.read_s for one in calls], median, at_most(0.5, "s"),
        note="before the limit begins; 50,000 pods on 5,000 nodes unless smoke",
        prototype="not measured",
    )  # fmt: skip
    yield figure(
        "fleet: first plan after reading", "s",
        [one.first_plan_s - one.read_s for one in calls], median, at_most(0.3, "s"),
        note="checked, at the caller", prototype="not measured",
    )  # fmt: skip
    yield figure(
        "fleet: checking the last plan", "s", [one.check_s for one in calls], median,
        at_most(0.3, "s"), prototype="not measured",
    )  # fmt: skip
    yield figure(
        "fleet: whole call beyond the limit of 1 s", "s",
        [one.wall_s - LIMIT_S for one in calls], median, at_most(1.0, "s"),
        prototype="not measured",
    )  # fmt: skip
    yield figure(
        "fleet: waiting pods placed", "%", [100 * one.placed for one in calls], min,
        at_least(100, "%"), prototype="not measured",
    )  # fmt: skip
    yield figure(
        "fleet: moves for each of them", "moves", [one.moves for one in calls], max,
        at_most(1.1, "moves"), note="each needs one", prototype="not measured",
    )  # fmt: skip
