"""Disruption budgets: a plan disrupts no more pods of one than it allows now.

A budget counts over the whole plan. So of its running pods only as many are in play
as it allows, those first that are cheapest to delete and youngest; the others stay
where they are. A pod under two budgets cannot be evicted at all: the API answers 500.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from stowage_optimizer.constraints.pod_selection import selects
from stowage_optimizer.constraints.refusing import class_refusal
from stowage_optimizer.model.snapshot import DisruptionBudget, Pod, Refusal, Snapshot


@dataclass(frozen=True, slots=True)
class Held:
    """Running pods that budgets keep where they are."""

    pods: frozenset[str]
    refusals: tuple[Refusal, ...]


def held_by_budgets(snapshot: Snapshot) -> Held:
    """Return the running pods that may not be disrupted, and why."""
    held: set[str] = set()
    refusals: list[Refusal] = []
    members: defaultdict[int, list[Pod]] = defaultdict(list)
    by_namespace: defaultdict[str, list[int]] = defaultdict(list)
    for index, budget in enumerate(snapshot.budgets):
        by_namespace[budget.namespace].append(index)
    for class_id, pods in _running(snapshot).items():
        pod_class = snapshot.classes[class_id]
        covering = [
            index
            for index in by_namespace[pod_class.namespace]
            if selects(snapshot.budgets[index].selector, pod_class.labels)
        ]
        detail = _budget_problem([snapshot.budgets[index] for index in covering])
        if detail:
            held.update(pod.uid for pod in pods)
            _, refusal = class_refusal(
                snapshot.classes[class_id], "disruption-budget", detail
            )
            refusals.append(refusal)
        elif covering:
            members[covering[0]].extend(pod for pod in pods if pod.movable)
    for index, pods in members.items():
        budget = snapshot.budgets[index]
        staying = sorted(pods, key=_cost)[budget.disruptions_allowed :]
        held.update(pod.uid for pod in staying)
        refusals.extend(_rest(budget, len(pods), len(staying)))
    return Held(frozenset(held), tuple(refusals))


def _running(snapshot: Snapshot) -> dict[str, list[Pod]]:
    running: dict[str, list[Pod]] = {}
    for pod in snapshot.pods:
        if pod.node is not None:
            running.setdefault(pod.class_id, []).append(pod)
    return running


def _budget_problem(budgets: list[DisruptionBudget]) -> str:
    if len(budgets) > 1:
        names = ", ".join(budget.name for budget in budgets)
        return f"more than one budget selects its pods: {names}"
    if budgets and budgets[0].disruptions_allowed < 1:
        return f"budget {budgets[0].name} allows no disruption now"
    return ""


def _cost(pod: Pod) -> tuple[int, int]:
    return pod.deletion_cost, pod.age_s


def _rest(budget: DisruptionBudget, count: int, staying: int) -> Iterator[Refusal]:
    if staying:
        yield Refusal(
            f"budget {budget.namespace}/{budget.name}",
            "disruption-budget",
            f"allows {budget.disruptions_allowed} of {count} pods to be disrupted; "
            f"{staying} stay",
        )
