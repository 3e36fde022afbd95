"""No disruption budget is broken by an eviction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from testbed.invariants.eviction import Evicted
from testbed.invariants.history import History
from testbed.invariants.pod import ready
from testbed.invariants.violation import Violation
from testbed.observe.change import JsonObject


def no_budget_broken(history: History) -> Iterator[Violation]:
    """Yield evictions that left a budget with fewer ready pods than it demands.

    What is counted is who was ready just before, of the pods that the budget selects;
    what is demanded is what the budget itself last said before the server granted it.
    """
    for evicted in history.evictions:
        pods = history.present("Pod", evicted.position)
        if not ready(pods.get(evicted.uid, evicted.body)):
            continue
        budgets = history.present("PodDisruptionBudget", evicted.granted)
        for budget in budgets.values():
            yield from _broken(budget, evicted, pods)


def _broken(
    budget: JsonObject, evicted: Evicted, pods: Mapping[str, JsonObject]
) -> Iterator[Violation]:
    if not _selects(budget, evicted.body):
        return
    demanded = (budget.get("status") or {}).get("desiredHealthy")
    left = sum(
        1
        for uid, body in pods.items()
        if uid != evicted.uid and _selects(budget, body) and ready(body)
    )
    if demanded is not None and left < demanded:
        yield Violation(
            "budget",
            f"{budget['metadata']['namespace']}/{budget['metadata']['name']}",
            f"{left} of {demanded} ready without {evicted.key}",
        )


def _selects(budget: JsonObject, pod: JsonObject) -> bool:
    if budget["metadata"]["namespace"] != pod["metadata"]["namespace"]:
        return False
    selector = (budget.get("spec") or {}).get("selector")
    if selector is None:
        # Without a selector a budget is nobody's; with an empty one it is everybody's.
        return False
    labels = pod["metadata"].get("labels") or {}
    wanted = selector.get("matchLabels") or {}
    return all(labels.get(name) == value for name, value in wanted.items()) and all(
        _holds(one, labels) for one in selector.get("matchExpressions") or ()
    )


def _holds(requirement: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    name, values = requirement["key"], requirement.get("values") or ()
    match requirement["operator"]:
        case "In":
            return labels.get(name) in values
        case "NotIn":
            return labels.get(name) not in values
        case "Exists":
            return name in labels
        case _:
            return name not in labels
