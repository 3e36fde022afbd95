"""The strict policy: no pod makes way for one of the same or a lower priority."""

from __future__ import annotations

from collections.abc import Iterator

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.conflicts import Conflicts
from stowage_optimizer.verify.movability import disruptable_pods
from stowage_optimizer.verify.order import demanding
from stowage_optimizer.verify.spare_room import SpareRoom
from stowage_optimizer.verify.violation import Violation


def check_policy(case: Case) -> Iterator[Violation]:
    """Yield evicted pods for which no pod of strictly higher priority is to blame.

    Two things are checked of each: some pending pod of strictly higher priority gets
    a node, and the evicted pod would not fit anywhere even if every pod of lower
    priority, and every newly placed one of its own, were not there.
    """
    if case.policy != pb.POLICY_STRICT:
        return
    # A pending pod cannot be evicted: that is another rule.
    evicted = [one.pod_uid for one in case.evictions if case.before[one.pod_uid]]
    if not evicted:
        return
    gained = [case.priority(one.pod_uid) for one in case.placements]
    disruptable = disruptable_pods(case)
    on_nodes = case.on_nodes()
    conflicts = Conflicts(case)
    spare = SpareRoom(case, disruptable)
    for uid in evicted:
        priority = case.priority(uid)
        if not any(other > priority for other in gained):
            yield Violation(
                "policy", uid, f"evicted, but nothing above priority {priority} gains"
            )
            continue
        if demanding(case.class_of(uid)):
            # Where it fits depends on which pods come, and in which order.
            continue
        for node in spare.nodes_for(uid):

            def staying(place: str, uid: str = uid) -> list[str]:
                return _staying(case, uid, on_nodes[place], disruptable)

            if not conflicts.refuses(uid, node, staying):
                yield Violation(
                    "policy", uid, f"evicted for its own kind: it fits on {node}"
                )
                break


def _staying(
    case: Case, uid: str, on_node: list[str], disruptable: set[str]
) -> list[str]:
    """Return the pods ``on_node`` that need not make way for the pod ``uid``."""
    priority = case.priority(uid)
    return [
        other
        for other in on_node
        if _ranks_above(case, other, priority)
        or (case.before[other] and other not in disruptable)
    ]


def _ranks_above(case: Case, other: str, priority: int) -> bool:
    if case.priority(other) == priority:
        return bool(case.before[other])
    return case.priority(other) > priority
