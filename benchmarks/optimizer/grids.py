"""Figures of the two grids: against the paper's strategy, proofs, answer times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

from tabulate import tabulate

from benchmarks.optimizer.record import Record
from benchmarks.optimizer.session import Session
from stowage_testbed.instances.case import Case, Family
from stowage_testbed.instances.cell import USAGES_PERCENT, Cell
from stowage_testbed.text.figure import (
    Figure,
    at_least,
    at_most,
    figure,
    percentile_95,
    share_percent,
)

ROOMY_PERCENT = 95
OVERRUN_S = 0.05

PROTOTYPE_BY_USAGE = {90: "100 %", 95: "100 %", 100: "48 %", 105: "51 %"}
"""Of 480 instances, 8 nodes up, one priority and four."""


@dataclass(frozen=True, slots=True)
class Trio:
    """The records of one case; ``long`` is None where ``quick`` is proved."""

    case: Case
    quick: Record
    rival: Record
    long: Record | None


def trios(session: Session) -> list[Trio]:
    """Return the cases that both arms have answered."""
    found = []
    for case in session.scope.grid_cases():
        quick = session.record(case, session.quick)
        rival = session.record(case, session.rival)
        if quick is not None and rival is not None:
            long = session.record(case, session.long)
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
    rival = f"`paper` at {session.scope.rival_s:g} s"
    name = f"{family} grid, {session.scope.quick_s:g} s"
    better = [float(one.quick.value > one.rival.value) for one in known]
    worse = [float(one.quick.value < one.rival.value) for one in known]
    yield figure(
        f"{name}: worse than {rival}", "instances", worse, sum, at_most(0),
        spread=False, prototype=_studied(family, "0 of 96"),
    )  # fmt: skip
    yield figure(
        f"{name}: better than {rival}", "%", better, share_percent,
        at_least(45, "%"), spread=False, prototype=_studied(family, "49 % of 96"),
    )  # fmt: skip
    yield from _proof_figures(name, family, known, session)
    yield from _time_figures(name, family, known, session)
    yield figure(
        f"{name}: instances with refused classes", "%",
        [float(bool(one.quick.refused)) for one in known], share_percent, spread=False,
        prototype=_studied(family, "none has constraints"),
    )  # fmt: skip


def _time_figures(
    name: str, family: Family, known: list[Trio], session: Session
) -> Iterator[Figure]:
    walls = [one.quick.wall_s for one in known]
    yield figure(
        f"{name}: median answer", "s", walls, median, at_most(0.1, "s"),
        prototype=_studied(family, "0.074-0.082 s"),
    )  # fmt: skip
    yield figure(
        f"{name}: 95 % of the answers within", "s", walls, percentile_95,
        prototype=_studied(family, "0.99 s (a quarter is not proved)"),
    )  # fmt: skip
    yield figure(
        f"{name}: longest answer", "s", walls, max,
        at_most(session.scope.quick_s + OVERRUN_S, "s"),
        prototype=_studied(family, "0.99 s (Numba), 1.57 s (C++)"),
    )  # fmt: skip
    yield figure(
        f"{name}: median answer of `paper` at {session.scope.rival_s:g} s", "s",
        [one.rival.wall_s for one in known], median,
        prototype=_studied(family, "6.2 s (mean)"),
    )  # fmt: skip


def _proof_figures(
    name: str, family: Family, known: list[Trio], session: Session
) -> Iterator[Figure]:
    roomy = [one for one in known if one.case.cell.usage_percent <= ROOMY_PERCENT]
    yield figure(
        f"{name}: proved optimal", "%", proofs(known), share_percent,
        at_least(80, "%"), spread=False,
        prototype=_studied(family, "75-78 % (48 cells of 8 nodes up)"),
    )  # fmt: skip
    yield figure(
        f"{name}: proved optimal at 90 and 95 % usage", "%", proofs(roomy),
        share_percent, at_least(100, "%"), spread=False,
        prototype=_studied(family, "100 %"),
    )  # fmt: skip
    for usage in USAGES_PERCENT:
        chosen = [one for one in known if one.case.cell.usage_percent == usage]
        yield figure(
            f"{name}: proved optimal at {usage} % usage", "%", proofs(chosen),
            share_percent, spread=False,
            prototype=_studied(family, PROTOTYPE_BY_USAGE[usage]),
        )  # fmt: skip
    yield figure(
        f"{name}: `paper` at {session.scope.rival_s:g} s proves", "%",
        [float(one.rival.proved) for one in known], share_percent, spread=False,
        prototype=_studied(family, "44 %"),
    )  # fmt: skip
    longer = [one for one in known if one.quick.proved or one.long is not None]
    yield figure(
        f"{name.partition(',')[0]}, {session.scope.long_s:g} s: proved optimal", "%",
        [
            float(one.quick.proved or (one.long is not None and one.long.proved))
            for one in longer
        ],
        share_percent, at_least(90, "%"), spread=False,
        prototype=_studied(family, "82 %"),
        note="what the short limit proved is not solved again",
    )  # fmt: skip


def _studied(family: Family, figure_of_study: str) -> str:
    """Return the study's figure; it had no instances with constraints."""
    return figure_of_study if family is Family.PAPER else "not studied"


def proofs(known: Iterable[Trio]) -> list[float]:
    """Return one for each case that the short limit proved, else zero."""
    return [float(one.quick.proved) for one in known]


def cell_documents(known: list[Trio]) -> list[dict[str, Any]]:
    """Return one entry a family and cell."""
    groups: dict[tuple[str, Cell], list[Trio]] = {}
    for one in known:
        groups.setdefault((one.case.family.value, one.case.cell), []).append(one)
    return [
        {
            "family": family,
            "cell": cell.name,
            "runs": len(group),
            "proved": sum(proofs(group)),
            "better": sum(one.quick.value > one.rival.value for one in group),
            "worse": sum(one.quick.value < one.rival.value for one in group),
            "wall_s": [one.quick.wall_s for one in group],
        }
        for (family, cell), group in groups.items()
    ]


def cells_table(known: list[Trio], family: str) -> str:
    """Return the share of proofs in percent, nodes and pods by usage and priorities."""
    chosen = [one for one in known if one.case.family == family]
    columns = sorted(
        {(one.case.cell.usage_percent, one.case.cell.priorities) for one in chosen}
    )
    sizes = sorted(
        {(one.case.cell.nodes, one.case.cell.pods_per_node) for one in chosen}
    )
    rows = [
        (f"{nodes} x {pods}", *(_share(chosen, nodes, pods, *key) for key in columns))
        for nodes, pods in sizes
    ]
    headers = (f"{family}: proved %", *(f"u{usage} k{k}" for usage, k in columns))
    return tabulate(rows, headers=headers, disable_numparse=True)


def _share(
    chosen: list[Trio], nodes: int, pods: int, usage: int, priorities: int
) -> str:
    wanted = Cell(nodes, pods, priorities, usage)
    found = proofs(one for one in chosen if one.case.cell == wanted)
    return f"{share_percent(found):.0f}" if found else "-"
