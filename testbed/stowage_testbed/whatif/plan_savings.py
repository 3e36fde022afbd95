"""What a PackingPlan saves: the nodes that it empties, less those that it fills."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from stowage_testbed.api_client import ApiRefusedError, ApiUnreachableError, Objects
from stowage_testbed.errors import StowageError
from stowage_testbed.observe.change import JsonObject
from stowage_testbed.observe.pod_body import FINISHED
from stowage_testbed.prices import HOURS_A_MONTH, Prices
from stowage_testbed.whatif.node_use import Costs, costs_of
from stowage_testbed.whatif.screen_lines import count, first, money

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

COUNTED = frozenset({"Proposed", "Executing", "Completed"})
"""Phases of plans that will make their moves, or have."""

_MADE = "Bound"
_NAMED = 5


@dataclass(frozen=True, slots=True)
class PlanSaving:
    """What a plan saves.

    Attributes
    ----------
    empties, fills
        Nodes, in alphabetical order. One is empty where only pods of DaemonSets are.
    an_hour
        What the former cost more than the latter.
    without_price
        Those of both that have none, and so count nothing.
    """

    empties: tuple[str, ...]
    fills: tuple[str, ...]
    an_hour: Decimal
    currency: str
    without_price: tuple[str, ...]

    def short(self) -> str:
        """Return the amount, marked if it is not all."""
        more = f" (and {len(self.without_price)} without a price)"
        return money(self.an_hour, self.currency) + more * bool(self.without_price)

    def sentence(self) -> str:
        """Return what is known, in words."""
        month = money(self.an_hour * HOURS_A_MONTH)
        parts = [
            f"It empties {count(len(self.empties), 'node')} "
            f"({first(self.empties, _NAMED)})"
        ]
        if self.fills:
            parts.append(f"fills {first(self.fills, _NAMED)}")
        parts.append(
            f"saves {money(self.an_hour, self.currency)} an hour, {month} a month"
        )
        text = ", ".join(parts)
        if self.without_price:
            text += f"; without a price: {first(self.without_price, _NAMED)}"
        return f"{text}."


def plan_savings(
    client: ApiClient, plans: Sequence[JsonObject], prices: Prices
) -> dict[str, PlanSaving]:
    """Return what plans save by name, those left out that empty and fill no node.

    Raises
    ------
    StowageError
        Nodes or pods may not be listed, or there is no answer.
    """
    counted = [one for one in plans if _phase(one) in COUNTED]
    if not counted:
        return {}
    objects = Objects(client)
    try:
        nodes, pods = objects.listed("Node"), objects.listed("Pod")
    except (ApiRefusedError, ApiUnreachableError) as error:
        raise StowageError(
            f"what plans save cannot be said: {error}; it takes the right to list "
            "nodes and pods, or leave out the prices"
        ) from error
    costs = costs_of(nodes, prices)
    found = {
        str(one["metadata"]["name"]): saving_of(one, pods, costs) for one in counted
    }
    return {name: one for name, one in found.items() if one.empties or one.fills}


def saving_of(
    plan: JsonObject, pods: Iterable[Mapping[str, Any]], costs: Costs
) -> PlanSaving:
    """Return what a plan saves, from the pods as they are now.

    Moves that are made are counted back. Who came or went meanwhile counts as there
    from the beginning.
    """
    status = plan.get("status") or {}
    there = {one["metadata"]["uid"]: one for one in pods if _counts(one)}
    after = Counter(str(one["spec"]["nodeName"]) for one in there.values())
    before = Counter(after)
    for move in status.get("moves") or ():
        source, target = move["fromNode"], move["toNode"]
        if move.get("state") == _MADE:
            before[source] += 1
            before[target] -= 1
        else:
            here = move["podUID"] in there
            # An evicted pod that is gone had its place when the plan began.
            before[source] += not here
            after[source] -= here
            after[target] += 1
    for eviction in status.get("evictions") or ():
        here = eviction["podUID"] in there
        before[eviction["node"]] += not here
        after[eviction["node"]] -= here
    for placement in status.get("placements") or ():
        here = placement["podUID"] in there
        before[placement["node"]] -= here
        after[placement["node"]] += not here
    used, needed = _used(before), _used(after)
    empties, fills = sorted(used - needed), sorted(needed - used)
    return PlanSaving(
        tuple(empties),
        tuple(fills),
        costs.sum(empties) - costs.sum(fills),
        costs.currency,
        tuple(one for one in (*empties, *fills) if one not in costs.an_hour),
    )


def _used(pods: Counter[str]) -> set[str]:
    return {node for node, number in pods.items() if number > 0}


def _counts(pod: Mapping[str, Any]) -> bool:
    """Return whether a pod keeps its node in use."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return bool(
        pod["spec"].get("nodeName")
        and (pod.get("status") or {}).get("phase") not in FINISHED
        and not any(one["kind"] == "DaemonSet" for one in owners)
    )


def _phase(plan: JsonObject) -> str:
    return str((plan.get("status") or {}).get("phase", ""))
