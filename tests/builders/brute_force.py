"""The oracle: every assignment of a small snapshot is tried.

It knows resources, forbidden pairs and movability, which is what its snapshots use.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from itertools import product

from solving_in_process import finished_answer_to

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify import verify_plan

Where = dict[str, str]
"""Node of each pod by UID, empty for none."""

Value = tuple[tuple[int, int, int], ...]
"""Per tier, highest first: running pods of the tier kept, what pods placed count for, stability."""


def best_value(snapshot: pb.Snapshot, policy: pb.Policy, keeps: Callable[[Where], bool] = lambda _where: True) -> Value:
    """Return the lexicographically best value of any feasible assignment that ``keeps`` says may be."""
    uids = [pod.uid for pod in snapshot.pods]
    choices = [_choices(snapshot, pod) for pod in snapshot.pods]
    every = (dict(zip(uids, nodes, strict=True)) for nodes in product(*choices))
    return max(value_of(snapshot, where, policy) for where in every if keeps(where) and _has_room(snapshot, where))


def solve_and_compare(
    snapshot: pb.Snapshot, strategy: str, keeps: Callable[[Where], bool]
) -> tuple[pb.Plan, Value, Value]:
    """Solve by the strict policy, and return the plan, its value, and the best that ``keeps`` says may be.

    The plan is held to the checker, to ``keeps``, and to claim nothing false.
    """
    asked = pb.SolveOptions(strategy=strategy, seed=1, deterministic=True, time_limit_s=2)
    plan = finished_answer_to(snapshot, asked).plan
    where = outcome(snapshot, plan)
    reached, best = value_of(snapshot, where, pb.POLICY_STRICT), best_value(snapshot, pb.POLICY_STRICT, keeps)
    assert verify_plan(snapshot, plan, pb.POLICY_STRICT, asked) == []
    assert keeps(where)
    assert reached <= best
    assert reached == best or not plan.optimal
    return plan, reached, best


def plan_to(snapshot: pb.Snapshot, where: Mapping[str, str]) -> pb.Plan:
    """Return the plan that brings pods to their node; those not named stay."""
    plan = pb.Plan(snapshot_id=snapshot.id)
    units = {one.id: f"gang/{one.gang}" if one.gang else "" for one in snapshot.pod_classes}
    for pod in snapshot.pods:
        node = where.get(pod.uid, pod.node)
        if node == pod.node:
            continue
        unit = units[pod.class_id]
        if not pod.node:
            plan.placements.add(pod_uid=pod.uid, node=node, unit=unit)
        elif node:
            plan.moves.add(pod_uid=pod.uid, from_node=pod.node, to_node=node, unit=unit)
        else:
            plan.evictions.add(pod_uid=pod.uid, node=pod.node, unit=unit)
    return plan


def feasible(snapshot: pb.Snapshot, where: Where) -> bool:
    """Return whether the checker finds an order in which ``where`` can be reached."""
    found = verify_plan(snapshot, plan_to(snapshot, where), pb.POLICY_PAPER)
    return not {one.rule for one in found} - {"not-better", "tiers", "bounds"}


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
    worth = {one.id: max(1, one.worth) for one in snapshot.pod_classes}
    value = []
    for tier in sorted({priority[pod.class_id] for pod in snapshot.pods}, reverse=True):
        kept = placed = disruption = 0
        for pod in snapshot.pods:
            if priority[pod.class_id] < tier:
                continue
            placed += worth[pod.class_id] * bool(where[pod.uid])
            if pod.node and where[pod.uid] != pod.node:
                disruption += 2 if where[pod.uid] else 3
            if pod.node and where[pod.uid] and priority[pod.class_id] == tier:
                kept += 1
        strict = policy == pb.POLICY_STRICT
        value.append((kept if strict else 0, placed, -disruption))
    return tuple(value)


def _choices(snapshot: pb.Snapshot, pod: pb.Pod) -> list[str]:
    if pod.node and not pod.movable:
        return [pod.node]
    pairs = snapshot.forbidden_pairs
    forbidden = {pair.node for pair in pairs if pair.class_id == pod.class_id}
    names = {node.name for node in snapshot.nodes} - forbidden
    return sorted({"", pod.node, *names})


def _has_room(snapshot: pb.Snapshot, where: Where) -> bool:
    requests = {one.id: _amounts(one.requests, 1) for one in snapshot.pod_classes}
    load: defaultdict[str, Counter[str]] = defaultdict(Counter)
    asked: defaultdict[str, set[str]] = defaultdict(set)
    for pod in snapshot.pods:
        node, wanted = where[pod.uid], requests[pod.class_id]
        load[node].update(wanted)
        if node and node != pod.node:
            asked[node].update(name for name in wanted if wanted[name])
    room = {node.name: _amounts(node.allocatable, node.allocatable.pods) for node in snapshot.nodes}
    return all(load[node][name] <= room[node][name] for node in asked for name in asked[node])


def _amounts(resources: pb.Resources, pods: int) -> Counter[str]:
    return Counter(cpu=resources.cpu_milli, memory=resources.memory_bytes, pods=pods)
