"""Plans for a cluster: the optimiser's own, and random ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.contract import optimizer_pb2_grpc as pb_grpc
from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.index import Index, amounts
from stowage_optimizer.verify.worth import count_tiers
from stowage_testbed.base.errors import StowageError
from stowage_testbed.simulate import Question


def recount_tiers(plan: pb.Plan, snapshot: pb.Snapshot, index: Index) -> None:
    """Write the tiers of ``plan`` anew, with nothing claimed that is not counted."""
    del plan.tiers[:]
    del plan.gain_by_moves[:]
    plan.ClearField("nodes_in_use")
    case = Case(snapshot, plan, pb.POLICY_STRICT, index=index)
    for priority, before, placed, disruption in count_tiers(case):
        plan.tiers.add(
            priority=priority,
            placed_before=before,
            placed=placed,
            upper_bound=len(snapshot.pods),
            disruption=disruption,
        )
    plan.optimal = not plan.tiers


def rearrange(plan: pb.Plan, arrange: Callable[[list[Any]], None]) -> None:
    """Let ``arrange`` change the order of each of the plan's three lists."""
    placements, moves = list(plan.placements), list(plan.moves)
    evictions = list(plan.evictions)
    for steps in (placements, moves, evictions):
        arrange(steps)
    del plan.placements[:], plan.moves[:], plan.evictions[:]
    plan.placements.extend(placements)
    plan.moves.extend(moves)
    plan.evictions.extend(evictions)


STRATEGIES = ("lexicographic", "cpsat-aggregated", "first-fit-decreasing")
ANSWERS = 2
TIME_LIMIT_S = 20.0
"""Far more than is needed: the clock must not stop a solve that counts steps."""

FAILURES = (pb.END_REASON_ERROR, pb.END_REASON_INFEASIBLE_INPUT)


def answers(
    rng: Random,
    optimizer: pb_grpc.OptimizerStub,
    question: Question,
    snapshot: pb.Snapshot,
) -> list[pb.Plan]:
    """Return the plans of some strategies.

    Raises
    ------
    StowageError
        The optimiser takes the snapshot for faulty, or failed.
    """
    return [
        _answer(rng, optimizer, strategy, question, snapshot)
        for strategy in rng.sample(STRATEGIES, ANSWERS)
    ]


def _answer(
    rng: Random,
    optimizer: pb_grpc.OptimizerStub,
    strategy: str,
    question: Question,
    snapshot: pb.Snapshot,
) -> pb.Plan:
    options = pb.SolveOptions(
        strategy=strategy,
        policy=question.policy,
        time_limit_s=TIME_LIMIT_S,
        seed=rng.randrange(2**31),
        workers=1,
        deterministic=True,
    )
    # What came before the last one depends on the time that checking took.
    *_, last = optimizer.Solve(pb.SolveRequest(snapshot=snapshot, options=options))
    if last.end_reason in FAILURES:
        raise StowageError(
            f"strategy {strategy} has no answer to snapshot {snapshot.id}: "
            f"{last.message}; the scheduler's snapshots must be solvable: one of the "
            "two is wrong"
        )
    plan: pb.Plan = last.plan
    return plan


class PlanBuilder:
    """Where every pod is, and what is free.

    Parameters
    ----------
    snapshot, index
        The cluster before the plan.
    """

    def __init__(self, snapshot: pb.Snapshot, index: Index) -> None:
        self.snapshot = snapshot
        self.index = index
        self.where = {uid: pod.node for uid, pod in index.pods.items()}
        self._free = {node.name: amounts(node.allocatable) for node in snapshot.nodes}
        self._open: dict[str, list[str]] = {}
        for uid, node in self.where.items():
            if node:
                self._free[node].subtract(self._wanted(uid))

    def pending(self) -> list[str]:
        """Return the pods without a node."""
        return [uid for uid, node in self.where.items() if not node]

    def supported(self, uid: str) -> bool:
        """Return whether the contract can express all that the pod needs."""
        return not self.index.classes[self.index.pods[uid].class_id].unsupported

    def movable(self) -> list[str]:
        """Return the pods that still are where they were and may be moved."""
        return [
            uid
            for uid, node in self.where.items()
            if (pod := self.index.pods[uid]).movable and node == pod.node
        ]

    def priority(self, uid: str) -> int:
        """Return the priority of the pod ``uid``."""
        return self.index.priority[self.index.pods[uid].class_id]

    def open_nodes(self, uid: str) -> list[str]:
        """Return the nodes that do not refuse the pod, full ones among them."""
        name = self.index.pods[uid].class_id
        if name not in self._open:
            nodes = self.index.nodes
            self._open[name] = self.index.eligibility.welcoming(name, nodes)
        return self._open[name]

    def fits(self, uid: str, node: str) -> bool:
        """Return whether there is room for the pod on ``node``."""
        free = self._free[node]
        return all(
            free[name] >= amount for name, amount in self._wanted(uid).items() if amount
        )

    def put(self, uid: str, node: str) -> None:
        """Put the pod on ``node``; empty takes it off its node."""
        if self.where[uid]:
            self._free[self.where[uid]].update(self._wanted(uid))
        if node:
            self._free[node].subtract(self._wanted(uid))
        self.where[uid] = node

    def plan(self) -> pb.Plan:
        """Return the plan that leads here."""
        plan = pb.Plan(snapshot_id=self.snapshot.id)
        for uid, node in self.where.items():
            home = self.index.pods[uid].node
            if node == home:
                continue
            if not home:
                plan.placements.add(pod_uid=uid, node=node)
            elif node:
                plan.moves.add(pod_uid=uid, from_node=home, to_node=node)
            else:
                plan.evictions.add(pod_uid=uid, node=home)
        return plan

    def _wanted(self, uid: str) -> Counter[str]:
        return self.index.wanted[self.index.pods[uid].class_id]


LOOK_SHARE = 0.85
"""Part of the pods for which nodes that turn them away are left out."""

TRIED_NODES = 3
NEEDLESS_SHARE = 0.2


def propose(rng: Random, builder: PlanBuilder) -> pb.Plan:
    """Return a plan that places some pending pods; ``builder`` holds its result."""
    pending = [uid for uid in builder.pending() if builder.supported(uid)]
    gained = []
    for uid in rng.sample(pending, rng.randint(min(1, len(pending)), len(pending))):
        if any(_place(rng, builder, uid, node) for node in _nodes(rng, builder, uid)):
            gained.append(builder.priority(uid))
    if rng.random() < NEEDLESS_SHARE:
        _move_needlessly(rng, builder, max(gained, default=0))
    plan = builder.plan()
    rearrange(plan, rng.shuffle)
    return plan


def _nodes(rng: Random, builder: PlanBuilder, uid: str) -> list[str]:
    nodes = list(builder.index.nodes)
    if rng.random() < LOOK_SHARE:
        nodes = builder.open_nodes(uid)
    return rng.sample(nodes, min(TRIED_NODES, len(nodes)))


def _place(rng: Random, builder: PlanBuilder, uid: str, node: str) -> bool:
    """Put the pod on ``node``, and move others out of its way if that helps."""
    if builder.fits(uid, node):
        builder.put(uid, node)
        return True
    went = []
    for other in _in_the_way(rng, builder, uid, node):
        elsewhere = _elsewhere(rng, builder, other)
        if not elsewhere and builder.priority(other) >= builder.priority(uid):
            continue
        builder.put(other, elsewhere)
        went.append(other)
        if builder.fits(uid, node):
            builder.put(uid, node)
            return True
    for other in went:
        builder.put(other, node)
    return False


def _in_the_way(rng: Random, builder: PlanBuilder, uid: str, node: str) -> list[str]:
    """Return the pods that may be disrupted for the pod, in random order."""
    others = [
        other
        for other in builder.movable()
        if builder.where[other] == node
        and builder.priority(other) <= builder.priority(uid)
    ]
    rng.shuffle(others)
    return others


def _elsewhere(rng: Random, builder: PlanBuilder, uid: str) -> str:
    nodes = [
        node
        for node in builder.open_nodes(uid)
        if node != builder.where[uid] and builder.fits(uid, node)
    ]
    return rng.choice(nodes) if nodes else ""


def _move_needlessly(rng: Random, builder: PlanBuilder, most: int) -> None:
    """Move a pod of a priority up to ``most`` needlessly."""
    movable = [uid for uid in builder.movable() if builder.priority(uid) <= most]
    if movable:
        uid = rng.choice(movable)
        builder.put(uid, _elsewhere(rng, builder, uid) or builder.where[uid])
