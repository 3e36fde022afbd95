"""Disruption budgets: a pod whose budget allows nothing now stays where it is.

Budgets that allow some disruption are left to the executor, which spreads evictions
over time. A pod under two budgets cannot be evicted at all: the API answers 500.
"""

from __future__ import annotations

from collections.abc import Iterator

from optimizer.constraints.matching import selects
from optimizer.constraints.refusing import class_refusal
from optimizer.model.pod_class import PodClass
from optimizer.model.refusal import Refusal
from optimizer.model.snapshot import Snapshot


def held_by_budgets(snapshot: Snapshot) -> Iterator[tuple[str, Refusal]]:
    """Yield the classes whose running pods may not be disturbed."""
    for pod_class in snapshot.classes.values():
        detail = _hindrance(snapshot, pod_class)
        if detail:
            yield class_refusal(pod_class, "disruption-budget", detail)


def _hindrance(snapshot: Snapshot, pod_class: PodClass) -> str:
    budgets = [
        budget
        for budget in snapshot.budgets
        if budget.namespace == pod_class.namespace
        and selects(budget.selector, pod_class.labels)
    ]
    if len(budgets) > 1:
        names = ", ".join(budget.name for budget in budgets)
        return f"more than one budget selects its pods: {names}"
    if budgets and budgets[0].disruptions_allowed < 1:
        return f"budget {budgets[0].name} allows no disruption now"
    return ""
