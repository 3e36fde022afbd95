"""One plan as a page of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tabulate import tabulate

from stowage_testbed.observe.change import JsonObject


def page_of(plan: JsonObject) -> str:
    """Return all that is known of a PackingPlan, in the order in which it happens."""
    return "\n".join(_lines(plan))


def _lines(plan: JsonObject) -> Iterator[str]:
    status = plan.get("status") or {}
    spec = plan.get("spec") or {}
    yield (
        f"{plan['metadata']['name']}: {status.get('phase') or 'not taken up yet'} "
        f"({spec.get('mode', 'DryRun')}, {spec.get('trigger', 'Manual')})"
    )
    if status.get("message"):
        yield f"  {status['message']}"
    if status.get("endReason"):
        proof = "proved optimal" if status.get("optimal") else "not proved optimal"
        yield (
            f"  {status.get('strategy', '')} ended with {status['endReason']} after "
            f"{float(status.get('solveSeconds') or 0):.2f} s, {proof}"
        )
    yield from _section("conditions", _conditions(status), ("type", "holds", "why"))
    yield from _section(
        "pods by priority",
        _tiers(status),
        ("priority and above", "placed before", "placed", "bound", "optimal"),
    )
    yield from _section("steps", _steps(status), ("what", "pod", "from", "to", "state"))
    yield from _section(
        "kept where they are",
        _protected(status),
        ("rule", "pods", "for example", "in the way of"),
    )
    yield from _section("turned down", _reasons(status, "objections"), _REASONS)
    yield from _section("left alone", _reasons(status, "refusals"), _REASONS)


_REASONS = ("pod", "reason", "detail")

Row = tuple[object, ...]


def _section(
    title: str, rows: Iterable[Row], headers: tuple[str, ...]
) -> Iterator[str]:
    found = list(rows)
    if found:
        yield ""
        yield f"{title}:"
        yield tabulate(found, headers=headers, disable_numparse=True)


def _conditions(status: JsonObject) -> Iterator[Row]:
    for one in status.get("conditions") or []:
        why = one.get("reason", "")
        if one.get("message"):
            why = f"{why}: {one['message']}"
        yield one["type"], one["status"], why


def _tiers(status: JsonObject) -> Iterator[Row]:
    for tier in status.get("tiers") or []:
        yield (
            tier.get("priority", 0),
            tier.get("placedBefore", 0),
            tier.get("placed", 0),
            tier.get("upperBound", 0),
            "yes" if tier.get("optimal") else "no",
        )


def _steps(status: JsonObject) -> Iterator[Row]:
    for one in status.get("evictions") or []:
        yield "evict", one["pod"], one["node"], "", one.get("state", "")
    for one in status.get("moves") or []:
        yield "move", one["pod"], one["fromNode"], one["toNode"], one.get("state", "")
    for one in status.get("placements") or []:
        yield "place", one["pod"], "", one["node"], ""


def _protected(status: JsonObject) -> Iterator[Row]:
    for one in status.get("protected") or []:
        waiting = int(one.get("inTheWayOf") or 0)
        stopped = f"{waiting} waiting pod{'s' * (waiting != 1)}" if waiting else ""
        yield one["reason"], one["pods"], one["example"], stopped


def _reasons(status: JsonObject, field: str) -> Iterator[Row]:
    for one in status.get(field) or []:
        yield one["subject"], one["reason"], one.get("detail", "")
