"""Asks scheduler and optimiser about a cluster that neither of them touches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.metrics.fragmentation import FreeRoom, Shape, stranded
from stowage_testbed.metrics.state import RESOURCES, Resource
from stowage_testbed.optimizer_service.service import RunningService, no_answer
from stowage_testbed.simulate import Instance, Question, SchedulerVerifier, Simulator
from stowage_testbed.whatif.findings import Findings, Move, Room
from stowage_testbed.whatif.inventory import Inventory
from stowage_testbed.whatif.kept import KeptPods, left_pending

REHEARSALS = 8
"""How often a plan that a plugin refuses is made again, without what it refused."""

ID = "whatif"


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """What plans may do, and how long the search for them may take.

    Attributes
    ----------
    max_moves
        Of a plan; ``None`` for any number.
    arguments
        Of the plugin, whose rules say which pods may be disrupted; what is left out has
        its default.
    """

    time_limit_s: float = 10.0
    max_moves: int | None = None
    arguments: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A plan that every plugin of the scheduler accepts, and the pods left alone."""

    plan: pb.Plan
    refusals: tuple[pb.Refusal, ...]
    objections: tuple[str, ...]


class Asking:
    """A scheduler, and an optimiser, for one cluster.

    Parameters
    ----------
    verifier, simulator
        Of a profile without preemption.
    service
        The optimiser.
    """

    def __init__(
        self, verifier: SchedulerVerifier, simulator: Simulator, service: RunningService
    ) -> None:
        self._verifier = verifier
        self._simulator = simulator
        self._service = service

    def findings(self, inventory: Inventory, limits: PlanLimits) -> Findings:
        """Return the answers.

        Raises
        ------
        StowageError
            The scheduler cannot read the objects, or the optimiser failed.
        """
        instance = Instance(ID, inventory.nodes, inventory.pods, inventory.objects)
        question = Question(instance, arguments=limits.arguments)
        snapshot = self._verifier.verify(question).snapshot
        placing = self._proposal(question, snapshot, limits, pb.OBJECTIVE_PLACE)
        emptying = self._proposal(
            replace(question, consolidates=True),
            snapshot,
            limits,
            pb.OBJECTIVE_CONSOLIDATE,
        )
        return _findings(
            snapshot,
            self._fits_now(instance, snapshot),
            placing,
            emptying,
            inventory.unread,
        )

    def _fits_now(self, instance: Instance, snapshot: pb.Snapshot) -> int:
        pending = {
            f"{pod.namespace}/{pod.name}" for pod in snapshot.pods if not pod.node
        }
        placed = self._simulator.place(instance).nodes
        return sum(placed.get(pod) is not None for pod in pending)

    def _proposal(
        self,
        question: Question,
        snapshot: pb.Snapshot,
        limits: PlanLimits,
        objective: pb.Objective,
    ) -> Proposal:
        """Return a plan that stands the scheduler's own rehearsal."""
        objections: list[str] = []
        for _ in range(REHEARSALS):
            last = self._solved(snapshot, limits, objective)
            verification = self._verifier.verify(replace(question, plans=(last.plan,)))
            (verdict,) = verification.verdicts
            if verdict.accepted:
                return Proposal(last.plan, tuple(last.refusals), tuple(objections))
            objections.append(verdict.detail)
            pairs = _pairs(snapshot, last.plan, verdict.pods)
            if not pairs:
                break
            question = replace(question, forbidden=(*question.forbidden, *pairs))
            snapshot = self._verifier.verify(question).snapshot
        # No pod moves: that is always allowed.
        return Proposal(pb.Plan(), (), tuple(objections))

    def _solved(
        self, snapshot: pb.Snapshot, limits: PlanLimits, objective: pb.Objective
    ) -> pb.SolveUpdate:
        options = pb.SolveOptions(
            time_limit_s=limits.time_limit_s,
            policy=pb.POLICY_STRICT,
            objective=objective,
            max_moves=limits.max_moves,
        )
        request = pb.SolveRequest(snapshot=snapshot, options=options)
        last = self._service.last_answer(request)
        if last.end_reason in (pb.END_REASON_ERROR, pb.END_REASON_INFEASIBLE_INPUT):
            raise no_answer(last.message)
        return last


def _pairs(
    snapshot: pb.Snapshot, plan: pb.Plan, refused: Sequence[str]
) -> list[tuple[str, str]]:
    """Return which pods were refused where, as ``namespace/name``."""
    names = {pod.uid: f"{pod.namespace}/{pod.name}" for pod in snapshot.pods}
    targets = {one.pod_uid: one.node for one in plan.placements}
    targets |= {one.pod_uid: one.to_node for one in plan.moves}
    return [(names[uid], targets[uid]) for uid in refused if uid in targets]


def _findings(
    snapshot: pb.Snapshot,
    fits_now: int,
    placing: Proposal,
    emptying: Proposal,
    unread: Sequence[str],
) -> Findings:
    names = {pod.uid: f"{pod.namespace}/{pod.name}" for pod in snapshot.pods}
    plan, fewer = placing.plan, emptying.plan
    known = fewer.HasField("nodes_in_use")
    in_use = fewer.nodes_in_use
    kept = KeptPods(snapshot)
    running = sum(bool(pod.node) for pod in snapshot.pods)
    return Findings(
        nodes=len(snapshot.nodes),
        running=running,
        pending=len(snapshot.pods) - running,
        fits_now=fits_now,
        fits_after=len(plan.placements),
        moves=_moves(plan, names),
        evictions=tuple(sorted(names[one.pod_uid] for one in plan.evictions)),
        proved=plan.optimal,
        gain_by_moves=tuple((one.moves, one.placed) for one in plan.gain_by_moves),
        left=left_pending(snapshot, plan, placing.refusals, kept),
        kept=tuple(kept.by_rule()),
        room=rooms(snapshot),
        used_nodes=in_use.before if known else None,
        needed_nodes=in_use.after if known else None,
        fewest_nodes=in_use.lower_bound if known else None,
        emptied=_emptied(snapshot, fewer),
        consolidating_moves=len(fewer.moves),
        not_judged=tuple(
            dict.fromkeys(
                (
                    *unread,
                    *(_refusal(one) for one in (*placing.refusals, *emptying.refusals)),
                    *placing.objections,
                    *emptying.objections,
                )
            )
        ),
    )


def _moves(plan: pb.Plan, names: dict[str, str]) -> tuple[Move, ...]:
    moves = (Move(names[one.pod_uid], one.from_node, one.to_node) for one in plan.moves)
    return tuple(sorted(moves, key=lambda one: one.pod))


def _emptied(snapshot: pb.Snapshot, plan: pb.Plan) -> tuple[str, ...]:
    """Return the nodes that hold movable pods before, and none after."""
    goes = {one.pod_uid: one.to_node for one in plan.moves}
    movable = [pod for pod in snapshot.pods if pod.node and pod.movable]
    before = {pod.node for pod in movable}
    after = {goes.get(pod.uid, pod.node) for pod in movable}
    return tuple(sorted(before - after))


def _refusal(one: pb.Refusal) -> str:
    detail = f": {one.detail}" if one.detail else ""
    return f"{one.subject}: {one.reason}{detail}"


def rooms(snapshot: pb.Snapshot) -> tuple[Room, ...]:
    """Return each resource; what the cluster's own pods request says what fits."""
    free = free_room_of(snapshot)
    shapes = [
        Shape(one.requests.cpu_milli, one.requests.memory_bytes)
        for one in snapshot.pod_classes
    ]
    return tuple(
        Room(
            resource=resource,
            capacity=free.capacity[resource],
            free=int(free.free[resource].sum()),
            stranded=stranded(free, shapes, resource),
        )
        for resource in RESOURCES
    )


def free_room_of(snapshot: pb.Snapshot) -> FreeRoom:
    """Return what the running pods leave free on each node."""
    places = {node.name: place for place, node in enumerate(snapshot.nodes)}
    size = {
        resource: np.array(
            [_amount(resource, node.allocatable) for node in snapshot.nodes], np.int64
        )
        for resource in RESOURCES
    }
    slots = np.array([node.allocatable.pods for node in snapshot.nodes], np.int64)
    free = {resource: size[resource].copy() for resource in RESOURCES}
    requests = {one.id: one.requests for one in snapshot.pod_classes}
    for pod in snapshot.pods:
        if pod.node in places:
            place = places[pod.node]
            slots[place] -= 1
            for resource in RESOURCES:
                free[resource][place] -= _amount(resource, requests[pod.class_id])
    return FreeRoom(
        free={resource: np.maximum(free[resource], 0) for resource in RESOURCES},
        pods=np.maximum(slots, 0),
        capacity={resource: int(size[resource].sum()) for resource in RESOURCES},
    )


def _amount(resource: Resource, of: pb.Resources) -> int:
    return of.cpu_milli if resource == "cpu" else of.memory_bytes
