"""Each cell's share of proofs and of better answers, as the paper's tables have it."""

from __future__ import annotations

from typing import Any

from tabulate import tabulate

from benchmarks.optimizer.figures.grids import Trio, proofs
from stowage_testbed.instances.cell import Cell
from stowage_testbed.text.figure import share_percent


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
