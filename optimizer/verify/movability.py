"""Nobody is touched who may not be."""

from __future__ import annotations

from collections.abc import Iterator

from optimizer.contract import optimizer_pb2 as pb
from optimizer.verify.case import Case
from optimizer.verify.selection import pod_labels_match
from optimizer.verify.violation import Violation


def check_movability(case: Case) -> Iterator[Violation]:
    """Yield running pods that are disturbed although they may not be moved."""
    for uid in _disturbed(case):
        pod = case.pods[uid]
        if not pod.movable:
            reason = pod.immovable_reason or "no reason given"
            yield Violation("immovable", uid, f"may not be moved ({reason})")
        for problem in _budget_problems(case, case.class_of(uid)):
            yield Violation("disruption-budget", uid, problem)


def check_unverifiable(case: Case) -> Iterator[Violation]:
    """Yield pods in the plan whose needs this checker cannot check."""
    touched = {uid for uid, node in case.after.items() if node != case.pods[uid].node}
    problems = {
        name: list(_unverifiable(case, case.classes[name]))
        for name in {case.pods[uid].class_id for uid in touched}
    }
    for uid in sorted(touched):
        for problem in problems[case.pods[uid].class_id]:
            yield Violation("unverifiable", uid, problem)


def disturbable_pods(case: Case) -> set[str]:
    """Return the running pods that a plan may move or evict."""
    free = {
        name
        for name, one in case.classes.items()
        if not any(_unverifiable(case, one)) and not any(_budget_problems(case, one))
    }
    return {
        uid
        for uid, pod in case.pods.items()
        if pod.node and pod.movable and pod.class_id in free
    }


def _disturbed(case: Case) -> list[str]:
    moved = [one.pod_uid for one in case.plan.moves]
    return moved + [one.pod_uid for one in case.plan.evictions]


def _budget_problems(case: Case, wanted: pb.PodClass) -> Iterator[str]:
    budgets = [
        budget
        for budget in case.snapshot.disruption_budgets
        if budget.namespace == wanted.namespace
        and budget.HasField("selector")
        and pod_labels_match(budget.selector, wanted.labels)
    ]
    if len(budgets) > 1:
        yield "is under two budgets or more"
    elif budgets and budgets[0].disruptions_allowed < 1:
        yield f"budget {budgets[0].name} allows no disruption"


def _unverifiable(case: Case, wanted: pb.PodClass) -> Iterator[str]:
    for need in _unverifiable_needs(wanted):
        yield f"class {wanted.id} has {need}"
    for carrier in _running_carriers(case):
        if _keeps_away(carrier, wanted):
            yield f"running pods of class {carrier.id} have anti-affinity to it"


def _running_carriers(case: Case) -> list[pb.PodClass]:
    carriers = [one for one in case.classes.values() if one.required_pod_anti_affinity]
    if not carriers:
        return []
    running = {pod.class_id for pod in case.snapshot.pods if pod.node}
    return [one for one in carriers if one.id in running]


def _unverifiable_needs(wanted: pb.PodClass) -> Iterator[str]:
    if wanted.required_pod_affinity:
        yield "required pod affinity"
    if wanted.required_pod_anti_affinity:
        yield "required pod anti-affinity"
    if any(
        spread.when_unsatisfiable != "ScheduleAnyway"
        for spread in wanted.topology_spread
    ):
        yield "hard topology spread"
    if wanted.host_ports:
        yield "host ports"
    if wanted.unsupported:
        yield f"needs beyond the contract: {', '.join(wanted.unsupported)}"


def _keeps_away(carrier: pb.PodClass, other: pb.PodClass) -> bool:
    for term in carrier.required_pod_anti_affinity:
        spaces = set(term.namespaces) or {carrier.namespace}
        in_scope = term.HasField("namespace_selector") or other.namespace in spaces
        if (
            in_scope
            and term.HasField("label_selector")
            and pod_labels_match(term.label_selector, other.labels)
        ):
            return True
    return False
