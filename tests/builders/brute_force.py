"""The oracle: every assignment of a small snapshot is tried.

It knows resources, forbidden pairs and movability, which is what its snapshots use.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import product

from stowage_optimizer.contract import optimizer_pb2 as pb

Where = dict[str, str]
"""Node of each pod by UID, empty for none."""

Value = tuple[tuple[int, int, int], ...]
"""Per tier, highest first: running pods of the tier kept, pods placed, stability."""


def best_value(snapshot: pb.Snapshot, policy: pb.Policy) -> Value:
    """Return the lexicographically best value of any feasible assignment."""
    return max(
        value_of(snapshot, where, policy) for where in _feasible_assignments(snapshot)
    )


def outcome(snapshot: pb.Snapshot, plan: pb.Plan) -> Where:
    """Return where every pod is after ``plan``."""
    where = {pod.uid: pod.node for pod in snapshot.pods}
    where.update({one.pod_uid: one.node for one in plan.placements})
    where.update({one.pod_uid: one.to_node for one in plan.moves})
    where.update({one.pod_uid: "" for one in plan.evictions})
    return where


def value_of(snapshot: pb.Snapshot, where: Where, policy: pb.Policy) -> Value:
    """Return the value of ``where``; under the paper's policy no pod counts as kept."""
    priority = {one.id: one.priority for one in snapshot.pod_classes}
    value = []
    for tier in sorted({priority[pod.class_id] for pod in snapshot.pods}, reverse=True):
        kept = placed = disruption = 0
        for pod in snapshot.pods:
            if priority[pod.class_id] < tier:
                continue
            placed += bool(where[pod.uid])
            if pod.node and where[pod.uid] != pod.node:
                disruption += 2 if where[pod.uid] else 3
            if pod.node and where[pod.uid] and priority[pod.class_id] == tier:
                kept += 1
        strict = policy == pb.POLICY_STRICT
        value.append((kept if strict else 0, placed, -disruption))
    return tuple(value)


def _feasible_assignments(snapshot: pb.Snapshot) -> Iterator[Where]:
    choices = [_choices(snapshot, pod) for pod in snapshot.pods]
    for nodes in product(*choices):
        where = {pod.uid: node for pod, node in zip(snapshot.pods, nodes, strict=True)}
        if _feasible(snapshot, where):
            yield where


def _choices(snapshot: pb.Snapshot, pod: pb.Pod) -> list[str]:
    if pod.node and not pod.movable:
        return [pod.node]
    forbidden = {
        pair.node for pair in snapshot.forbidden_pairs if pair.class_id == pod.class_id
    }
    names = [node.name for node in snapshot.nodes]
    return ["", *(name for name in names if name not in forbidden or name == pod.node)]


def _feasible(snapshot: pb.Snapshot, where: Where) -> bool:
    classes = {one.id: one for one in snapshot.pod_classes}
    load: defaultdict[str, Counter[str]] = defaultdict(Counter)
    asked: defaultdict[str, set[str]] = defaultdict(set)
    for pod in snapshot.pods:
        node = where[pod.uid]
        if not node:
            continue
        requests = _amounts(classes[pod.class_id].requests)
        requests["pods"] = 1
        load[node].update(requests)
        if node != pod.node:
            asked[node].update(name for name in requests if requests[name])
    room = {node.name: _amounts(node.allocatable) for node in snapshot.nodes}
    return all(
        load[node][name] <= room[node][name] for node in asked for name in asked[node]
    )


def _amounts(resources: pb.Resources) -> Counter[str]:
    return Counter(
        cpu=resources.cpu_milli, memory=resources.memory_bytes, pods=resources.pods
    )
