"""Figures of the service itself: starts, overhead, certificates."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from testbed.bench.contradictions import contradictions
from testbed.bench.figures.figure import Figure, at_most, figure
from testbed.bench.journal import Journal
from testbed.bench.readiness import Readiness

SHOWN = 3


def service_figures(readiness: Readiness) -> Iterator[Figure]:
    """Yield start-up times and the overhead of a call."""
    yield figure(
        "service: cold start to ready", "s", readiness.cold_s, max, at_most(10, "s"),
        note="nothing compiled yet",
    )  # fmt: skip
    yield figure(
        "service: warm start to ready", "s", readiness.warm_s, max, at_most(2, "s"),
        prototype="0.32 s (import alone)",
    )  # fmt: skip
    yield figure(
        "service: call beside the solve, 32 nodes", "s", readiness.overhead_s, median,
        at_most(0.02, "s"), note="at the caller, with decoding and verifying",
    )  # fmt: skip


def certificate_figure(journal: Journal) -> Figure:
    """Return how many claims of proof some other run refutes."""
    found = contradictions(journal.records())
    records = len(journal.records())
    return Figure(
        name="wrong certificates",
        value=len(found) if records else None,
        unit="claims",
        target="<= 0",
        met=not found if records else None,
        runs=records,
        note="; ".join(found[:SHOWN]) or "all runs of an instance against each other",
        prototype="0 of 408",
    )
