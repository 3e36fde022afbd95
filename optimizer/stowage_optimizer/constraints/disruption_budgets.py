"""Disruption budgets: a plan disrupts no more pods of one than it allows now.

A budget counts over the whole plan. One that allows no disruption keeps its pods where
they are, and so do two budgets over one pod: it cannot be evicted, the API answers 500.
Every other budget ties its pods (`stowage_optimizer.ties.disruptions`): which of them go
is chosen with the plan. Pods that are exempt from their budget are kept by none but a second one.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from stowage_optimizer.constraints.pod_selection import selects
from stowage_optimizer.constraints.refusals import class_refusal
from stowage_optimizer.model.snapshot import DisruptionBudget, Refusal, Snapshot


@dataclass(frozen=True, slots=True)
class Budgets:
    """What the budgets of a snapshot mean for its running pods.

    Parameters
    ----------
    held
        Ids of the classes whose running pods stay where they are.
    covering
        Index of the one budget over the running pods of a class, by class id.
    refusals
        Why pods are held.
    """

    held: frozenset[str]
    covering: dict[str, int]
    refusals: tuple[Refusal, ...]


def budgets_of(snapshot: Snapshot) -> Budgets:
    """Return which running pods may not be disrupted at all, and what covers others."""
    covering: dict[str, int] = {}
    refusals: dict[str, Refusal] = {}
    by_namespace: defaultdict[str, list[int]] = defaultdict(list)
    for index, budget in enumerate(snapshot.budgets):
        by_namespace[budget.namespace].append(index)
    for class_id in snapshot.pods.movable_classes:
        pod_class = snapshot.classes[class_id]
        found = [
            index
            for index in by_namespace[pod_class.namespace]
            if selects(snapshot.budgets[index].selector, pod_class.labels)
        ]
        over = [snapshot.budgets[index] for index in found]
        detail = _problem(over, exempt=bool(pod_class.exempt_of))
        if detail:
            _, refusals[class_id] = class_refusal(pod_class, "disruption-budget", detail)
        elif found and not pod_class.exempt_of:
            covering[class_id] = found[0]
    return Budgets(frozenset(refusals), covering, tuple(refusals.values()))


def _problem(budgets: Sequence[DisruptionBudget], *, exempt: bool) -> str:
    if len(budgets) > 1:
        names = ", ".join(budget.name for budget in budgets)
        return f"more than one budget selects its pods: {names}"
    if budgets and not exempt and budgets[0].disruptions_allowed < 1:
        return f"budget {budgets[0].name} allows no disruption now"
    return ""
