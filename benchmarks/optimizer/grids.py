"""Figures of the two grids: against the paper's strategy, proofs, answer times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
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
    share_percent,
)

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
    scope = session.scope
    rival = f"`paper` at {scope.rival_s:g} s"
    name = f"{family} grid, {scope.quick_s:g} s"

    def share(what: str, samples: list[bool], target: float | None = None) -> Figure:
        wanted = None if target is None else at_least(target, "%")
        ones = [float(one) for one in samples]
        return figure(f"{name}: {what}", "%", ones, share_percent, wanted, spread=False)

    worse = [float(one.quick.value < one.rival.value) for one in known]
    yield figure(
        f"{name}: worse than {rival}", "instances", worse, sum, at_most(0), spread=False
    )
    better = [one.quick.value > one.rival.value for one in known]
    yield share(f"better than {rival}", better, 45)
    yield share("proved optimal", [one.quick.proved for one in known], 80)
    roomy = [one for one in known if one.case.cell.usage_percent <= ROOMY_PERCENT]
    proved = [one.quick.proved for one in roomy]
    yield share("proved optimal at 90 and 95 % usage", proved, 100)
    for usage in USAGES_PERCENT:
        chosen = [one for one in known if one.case.cell.usage_percent == usage]
        proved = [one.quick.proved for one in chosen]
        yield share(f"proved optimal at {usage} % usage", proved)
    yield share(f"{rival} proves", [one.rival.proved for one in known])
    longer = [one for one in known if one.quick.proved or one.long is not None]
    yield figure(
        f"{family} grid, {scope.long_s:g} s: proved optimal", "%",
        [
            float(one.quick.proved or (one.long is not None and one.long.proved))
            for one in longer
        ],
        share_percent, at_least(90, "%"), spread=False,
        note="what the short limit proved is not solved again",
    )  # fmt: skip
    walls = [one.quick.wall_s for one in known]
    yield figure(f"{name}: median answer", "s", walls, median, at_most(0.1, "s"))
    yield figure(f"{name}: 95 % of the answers within", "s", walls, percentile_95)
    most = at_most(scope.quick_s + OVERRUN_S, "s")
    yield figure(f"{name}: longest answer", "s", walls, max, most)
    rivals = [one.rival.wall_s for one in known]
    yield figure(f"{name}: median answer of {rival}", "s", rivals, median)
    yield share(
        "instances with refused classes", [bool(one.quick.refused) for one in known]
    )


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


def percentile_95(samples: Sequence[float]) -> float:
    """Return what 95 % of the samples do not exceed: the largest of a few."""
    ordered = sorted(samples)
    return ordered[ceil(0.95 * len(ordered)) - 1]
