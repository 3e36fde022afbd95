"""What the status of a plan says of nodes that are emptied, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from stowage_testbed.amounts.price import MICROS, exact_price
from stowage_testbed.amounts.quantity import QuantityError, amount
from stowage_testbed.observe.change import JsonObject


def progress(plan: JsonObject) -> str:
    """Return how far a plan has come, in one line."""
    name, phase = plan["metadata"]["name"], phase_of(plan)
    told = nodes_of(plan)
    if not told:
        return f"{name}: {phase or 'not taken up yet'}"
    states = Counter(str(one.get("state", "")) for one in told)
    return f"{name}: {phase}, {states['Emptied']} of {len(told)} nodes emptied{_saved(plan)}"


def ending(plan: JsonObject) -> Iterator[str]:
    """Yield what became of a plan that has ended, or is a proposal."""
    message = (plan.get("status") or {}).get("message", "")
    name, phase = plan["metadata"]["name"], phase_of(plan)
    told = nodes_of(plan)
    emptied = [one["name"] for one in told if one.get("state") == "Emptied"]
    if phase == "Proposed":
        yield f"{name} is proposed{_saved(plan)}. To have it carried out:"
        yield f"  stowage plan approve {name}"
        return
    yield (f"{name} is {phase}: {len(emptied)} nodes emptied{_saved(plan)}{f'; {message}' if message else ''}")
    for node in told:
        if node.get("state") not in ("Emptied", None):
            why = f": {node['message']}" if node.get("message") else ""
            yield f"  {node['name']} is {node['state']}{why}"


def summary(plan: JsonObject) -> Iterator[str]:
    """Yield what a plan does to the nodes in use, where it empties any."""
    said = consolidation_of(plan)
    if not said:
        return
    yield (
        f"  {said.get('nodesBefore', 0)} nodes in use, {said.get('nodesAfter', 0)} by "
        f"the plan; proved: at least {said.get('nodesLowerBound', 0)}"
    )
    if "hourlyPriceBefore" in said:
        before, after, least, saving = (
            told_price(said.get(f"hourly{name}", ""))
            for name in ("PriceBefore", "PriceAfter", "PriceLowerBound", "Saving")
        )
        yield (f"  {before} an hour, {after} by the plan; proved: at least {least}; saved: {saving}")
    sure = {
        "Reserved": "room is held for each replacement",
        "Rehearsed": "another scheduler found a place for each replacement; nothing is held",
    }.get(said.get("certainty", ""))
    if sure:
        yield f"  {said['certainty']}: {sure}"


def consolidation_of(plan: JsonObject) -> JsonObject:
    """Return what a plan's status says of nodes in use; empty if it says nothing."""
    said: JsonObject = (plan.get("status") or {}).get("consolidation") or {}
    return said


def nodes_of(plan: JsonObject) -> list[JsonObject]:
    """Return the nodes that a plan empties, with how far each has come."""
    return consolidation_of(plan).get("nodes") or []


def phase_of(plan: JsonObject) -> str:
    """Return a plan's phase; empty until somebody takes it up."""
    phase: str = (plan.get("status") or {}).get("phase", "")
    return phase


def _saved(plan: JsonObject) -> str:
    saving = consolidation_of(plan).get("hourlySaving")
    return f", {told_price(saving)} an hour saved" if saving else ""


def told_price(said: str) -> str:
    """Return a price of a status with two decimals at least; what is none as it is."""
    try:
        return exact_price(int(amount(said) * MICROS))
    except QuantityError:
        return said
