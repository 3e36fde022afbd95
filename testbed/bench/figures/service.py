"""Figures of the service itself: starts and overhead."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from testbed.bench.figures.figure import Figure, at_most, figure
from testbed.bench.readiness import Readiness


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
