"""Why the two verifiers may differ: what only one of them knows.

An explanation is a change that takes away what only one side can see. It explains a
disagreement if both agree about the changed case: that is tried, not assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.simulate import Question, SchedulerVerifier
from tests.differential.comparison import Comparison, compare
from tests.differential.draft import named


class Explanation(StrEnum):
    """What only one of the two knows."""

    CLAIMS = "claims"
    """The plan says of itself what is not true. The scheduler takes nothing from that
    but whether to ask again, so a false account does no harm there."""

    OWN_KIND = "own-kind"
    """See `without_own_kind`."""

    PREEMPTION_POLICY = "preemption-policy"
    """See `without_preemption_policy`."""

    ZONES_OF_VOLUMES = "zones-of-volumes"
    """See `without_zones_of_volumes`."""

    ORDER = "order"
    """See `with_movers_gone`."""

    SPARED = "spared"
    """See `with_evicted_gone`."""


ARRIVAL_ORDER_RULES = frozenset({"pod-affinity", "topology-spread"})
"""Rules that depend on the pods that are there when a pod comes."""


@dataclass(frozen=True, slots=True)
class Changed:
    """The case without what only one side knows."""

    question: Question
    checked: pb.Policy


Change = Callable[[Comparison], Changed | None]
"""Returns None where it does not apply."""


def explain(
    verifier: SchedulerVerifier, comparison: Comparison, *, changes: int = 2
) -> tuple[Explanation, ...]:
    """Return what explains the disagreement; nothing if that is not known.

    Parameters
    ----------
    verifier
        Verifies the changed cases.
    comparison
        A plan about which the two do not agree.
    changes
        How many changes may be needed together, at most.
    """
    if comparison.scheduler.accepted and comparison.only_claims:
        return (Explanation.CLAIMS,)
    for name, change in CHANGES.items() if changes else ():
        changed = change(comparison)
        if changed is None:
            continue
        (again,) = compare(verifier, changed.question, checked=changed.checked)
        if again.agreed or (again.scheduler.accepted and again.only_claims):
            return (name,)
        further = explain(verifier, again, changes=changes - 1)
        if further:
            return (name, *further)
    return ()


def without_own_kind(comparison: Comparison) -> Changed | None:
    """Let pods be evicted for others of their own priority too.

    The checker asks whether an evicted pod would not fit anywhere beside those that
    rank above it. The scheduler only asks whether a pod above it gains; evictions that
    no room needs it spares when it carries the plan out.
    """
    if not comparison.scheduler.accepted or "policy" not in comparison.substance:
        return None
    priority = _priorities(comparison.snapshot)
    gained = [priority[one.pod_uid] for one in comparison.plan.placements]
    if any(
        priority[one.pod_uid] >= max(gained, default=priority[one.pod_uid])
        for one in comparison.plan.evictions
    ):
        return None
    return Changed(comparison.question, pb.POLICY_PAPER)


def without_preemption_policy(comparison: Comparison) -> Changed | None:
    """Let every pod preempt: the contract does not say which pods never do."""
    if comparison.scheduler.reason != "unjust-eviction":
        return None

    def preempting(pod: dict[str, Any]) -> None:
        pod["spec"].pop("preemptionPolicy", None)

    return Changed(_with_pods(comparison.question, preempting), comparison.checked)


def without_zones_of_volumes(comparison: Comparison) -> Changed | None:
    """Take the labels off volumes: the contract has their node affinity alone."""
    if "VolumeZone" not in comparison.scheduler.plugins:
        return None
    instance = comparison.question.instance
    objects = deepcopy(instance.objects)
    for one in objects:
        if one["kind"] == "PersistentVolume":
            one["metadata"].pop("labels", None)
    changed = replace(instance, objects=objects)
    return Changed(replace(comparison.question, instance=changed), comparison.checked)


def with_movers_gone(comparison: Comparison) -> Changed | None:
    """Let all moving pods leave before any pod comes.

    So the checker sees it. The scheduler evicts a pod only when there is room for it
    elsewhere: until then it may be required by a coming pod, or in its way.
    """
    if not comparison.plan.moves or not _about_arrival_order(comparison):
        return None
    moved = {one.pod_uid for one in comparison.plan.moves}

    def on_its_way(pod: dict[str, Any]) -> None:
        if named(pod) in moved:
            del pod["spec"]["nodeName"]
            pod["status"] = {"phase": "Pending"}

    plan = pb.Plan()
    plan.CopyFrom(comparison.plan)
    del plan.moves[:]
    del plan.placements[:]
    for move in comparison.plan.moves:
        plan.placements.add(pod_uid=move.pod_uid, node=move.to_node)
    plan.placements.extend(comparison.plan.placements)
    question = replace(_with_pods(comparison.question, on_its_way), plans=(plan,))
    return Changed(question, comparison.checked)


def with_evicted_gone(comparison: Comparison) -> Changed | None:
    """Let the evicted be gone: the scheduler spares those that no room needs."""
    accepted = comparison.scheduler.accepted
    if not (
        accepted and comparison.plan.evictions and _about_arrival_order(comparison)
    ):
        return None
    evicted = {one.pod_uid for one in comparison.plan.evictions}
    instance = comparison.question.instance
    left = tuple(pod for pod in instance.pods if named(pod) not in evicted)
    plan = pb.Plan()
    plan.CopyFrom(comparison.plan)
    del plan.evictions[:]
    question = replace(
        comparison.question, instance=replace(instance, pods=left), plans=(plan,)
    )
    return Changed(question, comparison.checked)


CHANGES: Mapping[Explanation, Change] = {
    Explanation.OWN_KIND: without_own_kind,
    Explanation.PREEMPTION_POLICY: without_preemption_policy,
    Explanation.ZONES_OF_VOLUMES: without_zones_of_volumes,
    Explanation.ORDER: with_movers_gone,
    Explanation.SPARED: with_evicted_gone,
}
"""What takes each of them away."""


def _about_arrival_order(comparison: Comparison) -> bool:
    refused_on_the_way = comparison.scheduler.reason in {"", "rehearsal", "stale"}
    return refused_on_the_way and comparison.substance <= ARRIVAL_ORDER_RULES


def _with_pods(
    question: Question, change: Callable[[dict[str, Any]], None]
) -> Question:
    pods = tuple(deepcopy(dict(pod)) for pod in question.instance.pods)
    for pod in pods:
        change(pod)
    return replace(question, instance=replace(question.instance, pods=pods))


def _priorities(snapshot: pb.Snapshot) -> dict[str, int]:
    of_class = {one.id: one.priority for one in snapshot.pod_classes}
    return {pod.uid: of_class[pod.class_id] for pod in snapshot.pods}
