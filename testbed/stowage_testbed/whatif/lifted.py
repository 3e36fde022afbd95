"""Whom rules, budgets and limits keep from a place: asked by lifting all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.invariants.selector import Selector
from stowage_testbed.whatif.inventory import Manifest
from stowage_testbed.whatif.outcome import Outcome
from stowage_testbed.whatif.release import LIMITS

LIFTABLE = frozenset(
    {
        "cooling-down",
        "disruption-budget",
        "job",
        "local-storage",
        "long-grace-period",
        "not-ready",
        "opted-out",
        "protected-namespace",
        "singleton",
        "statefulset",
        "too-young",
    }
)
"""Rules that a value, a label or a budget may change; the others are facts."""

DEAR = 2**30
"""Cost of a pod that a rule keeps: among equal plans the others are disrupted."""


@dataclass(frozen=True, slots=True)
class Helped:
    """Whom it would help if nothing but facts kept pods where they are.

    Attributes
    ----------
    classes
        How many more pods of a class would have a node.
    rules
        Those by which pods are kept that would have to go for it.
    changes
        These, the budgets and the limits that would have to change, in words.
    everyone
        Whether it is proved that it would help nobody else.
    """

    classes: Mapping[str, int] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    everyone: bool = False


@dataclass(frozen=True, slots=True)
class Bounds:
    """What bounds a plan besides the rules for pods: limits by name, and budgets.

    A budget selects pods by their labels, which are here by UID.
    """

    limits: Mapping[str, int]
    budgets: Sequence[Manifest]
    labels: Mapping[str, Mapping[str, str]]


def lifted(snapshot: pb.Snapshot) -> pb.Snapshot | None:
    """Return the snapshot without rules and budgets; ``None`` if there are none."""
    kept = [one for one in snapshot.pods if one.immovable_reason in LIFTABLE]
    if not kept and not snapshot.disruption_budgets:
        return None
    free = pb.Snapshot()
    free.CopyFrom(snapshot)
    del free.disruption_budgets[:]
    for pod in free.pods:
        if pod.immovable_reason in LIFTABLE:
            pod.movable, pod.immovable_reason, pod.deletion_cost = True, "", DEAR
    return free


def helped(snapshot: pb.Snapshot, plan: pb.Plan, found: Outcome, bounds: Bounds) -> Helped:
    """Return whom a plan for the `lifted` snapshot places beside those with a place."""
    classes = {pod.uid: pod.class_id for pod in snapshot.pods}
    more = Counter(classes[one.pod_uid] for one in plan.placements)
    more.subtract(classes[uid] for uid in found.placed)
    gained = {one: count for one, count in more.items() if count > 0}
    if not gained:
        return Helped(everyone=plan.optimal)
    gone = {one.pod_uid for one in plan.moves}
    gone |= {one.pod_uid for one in plan.evictions}
    disrupted = [pod for pod in snapshot.pods if pod.uid in gone]
    rules = sorted({pod.immovable_reason for pod in disrupted} & LIFTABLE)
    changes = (*(f"the rule {one}" for one in rules), *_broken(disrupted, bounds), *_exceeded(plan, bounds.limits))
    return Helped(gained, tuple(rules), changes, plan.optimal)


def _broken(disrupted: Sequence[pb.Pod], bounds: Bounds) -> Iterator[str]:
    """Yield the budgets of which the pods would take more than they allow."""
    for budget in bounds.budgets:
        selector = Selector.of(dict(budget))
        allowed = (budget.get("status") or {}).get("disruptionsAllowed") or 0
        covered = sum(
            pod.namespace == budget["metadata"].get("namespace", "default")
            and selector is not None
            and selector.selects(bounds.labels.get(pod.uid, {}))
            and not pod.exempt_from_budget
            for pod in disrupted
        )
        if covered > allowed:
            name = budget["metadata"]["name"]
            yield f"the budget {name}, which allows {allowed}"


def _exceeded(plan: pb.Plan, limits: Mapping[str, int]) -> Iterator[str]:
    for name, count in (("maxMoves", len(plan.moves)), ("maxEvictions", len(plan.evictions))):
        limit = limits.get(name)
        if limit is not None and count > limit:
            yield f"the limit of {limit:,} {LIMITS[name]}{'' if limit == 1 else 's'}"
