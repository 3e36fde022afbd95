"""No pod is disrupted that may not be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.anti_affinity import inexpressible_classes
from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.order import demanding
from stowage_optimizer.verify.terms import pod_labels_match
from stowage_optimizer.verify.violation import Violation


def check_movability(case: Case) -> Iterator[Violation]:
    """Yield running pods that are disrupted although they may not be moved."""
    for uid in case.disrupted:
        pod = case.pods[uid]
        if not pod.movable:
            reason = pod.immovable_reason or "no reason given"
            yield Violation("immovable", uid, f"may not be moved ({reason})")
        for problem in budget_problems(case, case.class_of(uid)):
            yield Violation("disruption-budget", uid, problem)


def check_budgets(case: Case) -> Iterator[Violation]:
    """Yield budgets of which the whole plan takes more than they allow."""
    disrupted = Counter(case.pods[uid].class_id for uid in case.disrupted)
    for budget in case.snapshot.disruption_budgets:
        spent = sum(
            count
            for name, count in disrupted.items()
            if covers(budget, case.classes[name])
        )
        if spent > max(0, budget.disruptions_allowed):
            yield Violation(
                "disruption-budget",
                f"{budget.namespace}/{budget.name}",
                f"allows {budget.disruptions_allowed}, the plan disrupts {spent}",
            )


def check_unverifiable(case: Case) -> Iterator[Violation]:
    """Yield pods in the plan whose needs this checker cannot check."""
    touched = {uid for uid, node in case.touched.items() if node != case.before[uid]}
    problems = {
        name: list(_unverifiable_needs(case.classes[name]))
        for name in {case.pods[uid].class_id for uid in touched}
    }
    for uid in sorted(touched):
        for problem in problems[case.pods[uid].class_id]:
            yield Violation("unverifiable", uid, f"has {problem}")


def disruptable_pods(case: Case) -> set[str]:
    """Return the running pods that a plan may move or evict.

    A strategy may do without pods under anti-affinity rules that no capacity expresses,
    and without those with affinity or spread. Of the pods of a budget that does not
    allow for all of them at once, only those that the plan does disrupt.
    """
    excluded = inexpressible_classes(case)
    free = {
        name
        for name, one in case.classes.items()
        if name not in excluded
        and not demanding(one)
        and not any(_unverifiable_needs(one))
        and not any(budget_problems(case, one))
    }
    found = {
        uid
        for uid, pod in case.pods.items()
        if pod.node and pod.movable and pod.class_id in free
    }
    disrupted = set(case.disrupted)
    for budget in case.snapshot.disruption_budgets:
        members = {uid for uid in found if covers(budget, case.class_of(uid))}
        if len(members) > budget.disruptions_allowed:
            found -= members - disrupted
    return found


def budget_problems(case: Case, wanted: pb.PodClass) -> Iterator[str]:
    """Yield why budgets allow to disrupt no pod of the class, if they do not."""
    budgets = [
        budget for budget in case.snapshot.disruption_budgets if covers(budget, wanted)
    ]
    if len(budgets) > 1:
        yield "is under two budgets or more"
    elif budgets and budgets[0].disruptions_allowed < 1:
        yield f"budget {budgets[0].name} allows no disruption"


def covers(budget: pb.DisruptionBudget, wanted: pb.PodClass) -> bool:
    """Return whether pods of the class are under ``budget``."""
    return (
        budget.namespace == wanted.namespace
        and budget.HasField("selector")
        and pod_labels_match(budget.selector, wanted.labels)
    )


def _unverifiable_needs(wanted: pb.PodClass) -> Iterator[str]:
    if wanted.unsupported:
        yield f"needs beyond the contract: {', '.join(wanted.unsupported)}"
