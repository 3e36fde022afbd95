"""Every name in the plan is known, and every pod is named once and truly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.violation import Violation


def check_snapshot_id(case: Case) -> Iterator[Violation]:
    """Yield a violation if the plan answers another snapshot."""
    if case.plan.snapshot_id != case.snapshot.id:
        yield Violation(
            "snapshot-id",
            case.plan.snapshot_id or "(none)",
            f"the snapshot is {case.snapshot.id}",
        )


def check_snapshot(case: Case) -> Iterator[Violation]:
    """Yield what makes the snapshot itself unfit for checking a plan."""
    snapshot = case.snapshot
    kinds = (
        ("pod", case.pods, snapshot.pods, "uid"),
        ("node", case.nodes, snapshot.nodes, "name"),
        ("class", case.classes, snapshot.pod_classes, "id"),
    )
    for kind, known, messages, key in kinds:
        # Nearly all are sound, and then there is nothing to count.
        if len(known) == len(messages):
            continue
        for name, count in Counter(getattr(one, key) for one in messages).items():
            if count > 1:
                yield Violation("snapshot", name, f"{kind} appears {count} times")
    if not case.present <= case.classes.keys():
        for pod in snapshot.pods:
            if pod.class_id not in case.classes:
                yield Violation("snapshot", pod.uid, f"unknown class {pod.class_id}")
    held = {reservation.node for reservation in snapshot.reservations}
    for node in sorted({*case.before.values(), *held} - {""}):
        if node not in case.nodes:
            yield Violation("snapshot", node, "unknown node")


def check_references(case: Case) -> Iterator[Violation]:
    """Yield pods and nodes that are unknown, and pods that are named twice."""
    named = [
        *((one.pod_uid, (one.node,)) for one in case.plan.placements),
        *((one.pod_uid, (one.from_node, one.to_node)) for one in case.plan.moves),
        *((one.pod_uid, (one.node,)) for one in case.plan.evictions),
    ]
    for uid, count in Counter(uid for uid, _ in named).items():
        if count > 1:
            yield Violation("duplicate", uid, f"is named {count} times")
    for uid, nodes in named:
        if uid not in case.pods:
            yield Violation("unknown-pod", uid, "is not in the snapshot")
        for node in nodes:
            if node not in case.nodes:
                yield Violation("unknown-node", node, f"for pod {uid}")


def check_origins(case: Case) -> Iterator[Violation]:
    """Yield pods that are not where the plan takes them from."""
    claims = [
        *((one.pod_uid, "", "is placed") for one in case.placements),
        *((one.pod_uid, one.from_node, "is moved") for one in case.moves),
        *((one.pod_uid, one.node, "is evicted") for one in case.evictions),
    ]
    for uid, claimed, verb in claims:
        actual = case.before[uid]
        if actual != claimed:
            yield Violation(
                "origin",
                uid,
                f"{verb} from {claimed or 'pending'}, is at {actual or 'pending'}",
            )
    for move in case.moves:
        if move.from_node == move.to_node:
            yield Violation("origin", move.pod_uid, f"moves to its own {move.to_node}")
