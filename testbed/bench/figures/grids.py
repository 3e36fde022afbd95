"""Figures of the two grids: against the paper's strategy, proofs, answer times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median

from testbed.bench.case import Case, Family
from testbed.bench.figures.figure import (
    Figure,
    at_least,
    at_most,
    figure,
    share_percent,
)
from testbed.bench.record import Record
from testbed.bench.session import Session

ROOMY_PERCENT = 95
OVERRUN_S = 0.05


@dataclass(frozen=True, slots=True)
class Trio:
    """The records of one case; ``long`` is None where ``quick`` is proved."""

    case: Case
    quick: Record
    rival: Record
    long: Record | None


def trios(session: Session) -> list[Trio]:
    """Return the cases that both arms have answered."""
    journal, found = session.journal, []
    for case in session.scope.grid_cases():
        quick = journal.get(case.id, session.quick.name)
        rival = journal.get(case.id, session.rival.name)
        if quick is not None and rival is not None:
            long = journal.get(case.id, session.long.name)
            found.append(Trio(case, quick, rival, long))
    return found


def grid_figures(session: Session) -> Iterator[Figure]:
    """Yield the figures of each grid."""
    known = trios(session)
    for family in (Family.PAPER, Family.MIX):
        yield from _family_figures(
            family, [one for one in known if one.case.family is family], session
        )


def _family_figures(
    family: Family, known: list[Trio], session: Session
) -> Iterator[Figure]:
    quick_s, rival_s = session.scope.quick_s, session.scope.rival_s
    rival = f"`paper` at {rival_s:g} s"
    name = f"{family} grid, {quick_s:g} s"
    better = [float(one.quick.value > one.rival.value) for one in known]
    worse = [float(one.quick.value < one.rival.value) for one in known]
    yield figure(
        f"{name}: worse than {rival}", "instances", worse, sum, at_most(0),
        spread=False, prototype="0 of 96",
    )  # fmt: skip
    yield figure(
        f"{name}: better than {rival}", "%", better, share_percent,
        at_least(45, "%"), spread=False, prototype="49 % of 96",
    )  # fmt: skip
    yield from _proof_figures(name, known, session)
    walls = [one.quick.wall_s for one in known]
    yield figure(
        f"{name}: median answer", "s", walls, median, at_most(0.1, "s"),
        prototype="0.08 s",
    )  # fmt: skip
    yield figure(
        f"{name}: longest answer", "s", walls, max,
        at_most(quick_s + OVERRUN_S, "s"), prototype="0.99 s (Numba), 1.57 s (C++)",
    )  # fmt: skip
    yield figure(
        f"{name}: median answer of {rival}", "s",
        [one.rival.wall_s for one in known], median, prototype="6.2 s (mean)",
    )  # fmt: skip
    yield figure(
        f"{name}: instances with refused classes", "%",
        [float(bool(one.quick.refused)) for one in known], share_percent, spread=False,
    )  # fmt: skip


def _proof_figures(name: str, known: list[Trio], session: Session) -> Iterator[Figure]:
    roomy = [one for one in known if one.case.cell.usage_percent <= ROOMY_PERCENT]
    yield figure(
        f"{name}: proved optimal", "%", proofs(known), share_percent,
        at_least(80, "%"), spread=False, prototype="75-78 % (48 cells of 8 nodes up)",
    )  # fmt: skip
    yield figure(
        f"{name}: proved optimal at 90 and 95 % usage", "%", proofs(roomy),
        share_percent, at_least(100, "%"), spread=False, prototype="100 %",
    )  # fmt: skip
    yield figure(
        f"{name}: `paper` at {session.scope.rival_s:g} s proves", "%",
        [float(one.rival.proved) for one in known], share_percent, spread=False,
        prototype="44 %",
    )  # fmt: skip
    longer = [one for one in known if one.quick.proved or one.long is not None]
    yield figure(
        f"{name.partition(',')[0]}, {session.scope.long_s:g} s: proved optimal", "%",
        [
            float(one.quick.proved or (one.long is not None and one.long.proved))
            for one in longer
        ],
        share_percent, at_least(90, "%"), spread=False, prototype="82 %",
        note="what the short limit proved is not solved again",
    )  # fmt: skip


def proofs(known: Iterable[Trio]) -> list[float]:
    """Return one for each case that the short limit proved, else zero."""
    return [float(one.quick.proved) for one in known]
