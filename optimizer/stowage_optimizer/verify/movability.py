"""No pod is disrupted that may not be."""

from collections import Counter
from collections.abc import Iterator

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.anti_affinity import inexpressible_classes
from stowage_optimizer.verify.arrival_order import demanding
from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.gangs import held_together
from stowage_optimizer.verify.violation import Violation


def check_movability(case: Case) -> Iterator[Violation]:
    """Yield running pods that are disrupted although they may not be moved."""
    kinds = {(one.class_id, case.pods[one.uid].exempt_from_budget) for one in case.disrupted}
    problems = {(name, exempt): list(budget_problems(case, name, exempt=exempt)) for name, exempt in kinds}
    for uid, *_, class_id, _ in case.disrupted:
        pod = case.pods[uid]
        if not pod.movable:
            reason = pod.immovable_reason or "no reason given"
            yield Violation("immovable", uid, f"may not be moved ({reason})")
        for problem in problems[class_id, pod.exempt_from_budget]:
            yield Violation("disruption-budget", uid, problem)


def check_budgets(case: Case) -> Iterator[Violation]:
    """Yield budgets of which the whole plan takes more than they allow."""
    disrupted = Counter(one.class_id for one in case.disrupted if not case.pods[one.uid].exempt_from_budget)
    for budget, names in case.index.covered:
        spent = sum(disrupted[name] for name in names)
        if spent > max(0, budget.disruptions_allowed):
            yield Violation(
                "disruption-budget",
                f"{budget.namespace}/{budget.name}",
                f"allows {budget.disruptions_allowed}, the plan disrupts {spent}",
            )


def check_unverifiable(case: Case) -> Iterator[Violation]:
    """Yield pods in the plan whose needs this checker cannot check."""
    classes = {one.class_id for one in case.touched.values()}
    needs = {name: _unverifiable_needs(case.classes[name]) for name in classes}
    touched = [one for one in case.touched.values() if needs[one.class_id]]
    for one in sorted(touched):
        if one.target != one.home:
            yield Violation("unverifiable", one.uid, f"has {needs[one.class_id]}")


class Disruptable:
    """The running pods that a plan may move or evict.

    A strategy may do without pods under anti-affinity rules that no capacity expresses,
    and without those with affinity or spread. Of the pods of a budget that does not
    allow for all of them at once, and of a gang that cannot leave as a whole, only those
    that the plan does disrupt.

    Attributes
    ----------
    classes
        The classes of which these are all movable pods.
    """

    def __init__(self, case: Case) -> None:
        self._case = case
        excluded = inexpressible_classes(case)
        self.classes = {
            name
            for name in case.index.present
            if name not in excluded
            and not demanding(case.classes[name])
            and not _unverifiable_needs(case.classes[name])
            and not any(budget_problems(case, name, exempt=True))
        }
        scarce: set[str] = set()
        for budget, names in case.index.covered:
            members = names & self.classes
            number = sum(case.index.counted[name] for name in members)
            if number > max(0, budget.disruptions_allowed):
                scarce |= members
        scarce |= {name for name in self.classes if held_together(case, name, self.classes)}
        self.classes -= scarce
        self._disrupted = {one.uid for one in case.disrupted if one.class_id in scarce}

    def __contains__(self, uid: str) -> bool:
        """Return whether the plan may disrupt the pod, which runs."""
        if not self._case.pods[uid].movable:
            return False
        return self._case.class_id(uid) in self.classes or uid in self._disrupted


def budget_problems(case: Case, class_id: str, *, exempt: bool) -> Iterator[str]:
    """Yield why budgets allow to disrupt no such pod of the class, if they do not."""
    budgets = case.index.budgets.get(class_id, ())
    if len(budgets) > 1:
        yield "is under two budgets or more"
    elif budgets and not exempt and budgets[0].disruptions_allowed < 1:
        yield f"budget {budgets[0].name} allows no disruption"


def _unverifiable_needs(wanted: pb.PodClass) -> str:
    if not wanted.unsupported:
        return ""
    return f"needs beyond the contract: {', '.join(wanted.unsupported)}"
