"""Figures of the certificates: how many were put to the test, and how many failed."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.optimizer.contradictions import compared, contradictions
from benchmarks.optimizer.session import Session
from stowage_testbed.text.figure import Figure, at_least, figure

SHOWN = 3


def certificate_figures(session: Session) -> Iterator[Figure]:
    """Yield claims that some other run refutes, and what they were held against."""
    records = session.journal.records()
    found = contradictions(records)
    yield Figure(
        name="wrong certificates",
        value=len(found) if records else None,
        unit="claims",
        target="<= 0",
        met=not found if records else None,
        runs=len(records),
        note="; ".join(found[:SHOWN]) or "all runs of an instance against each other",
        prototype="0 of 408",
    )
    yield figure(
        "certificates: limits held against other runs", "limits",
        [float(compared(records))] if records else [], sum, spread=False,
        note="two a tier, also where nothing is proved optimal",
        prototype="408 certificates",
    )  # fmt: skip
    searches = [
        record
        for case in session.scope.grid_cases()
        if (record := session.journal.get(case.id, session.search(case).name))
    ]
    yield figure(
        f"certificates: searched {session.scope.search_s:g} s by another strategy",
        "instances", [1.0] * len(searches), sum, at_least(session.scope.searched),
        spread=False, prototype="17 (CP-SAT alone)",
        note=f"the search proves {sum(one.proved for one in searches)} itself",
    )  # fmt: skip
