"""Asks scheduler and optimiser about a cluster that neither of them touches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.optimizer_service.service import running_service
from stowage_testbed.prices import Prices
from stowage_testbed.simulate import Instance, Question, Simulator
from stowage_testbed.whatif.capacity import Capacity, rooms
from stowage_testbed.whatif.emptying import emptying_by
from stowage_testbed.whatif.findings import (
    Emptying,
    Findings,
    Move,
    NotJudged,
    Tier,
    telling,
)
from stowage_testbed.whatif.inventory import Inventory
from stowage_testbed.whatif.kept import KeptPods, left_pending
from stowage_testbed.whatif.node_use import NodeUse, costs_of
from stowage_testbed.whatif.price_levels import dearest
from stowage_testbed.whatif.proposing import (
    PlanLimits,
    Proposal,
    Proposing,
    memory_of,
    snapshot_of,
)

ID = "whatif"


def findings_of(
    inventory: Inventory,
    profile: Path,
    limits: PlanLimits,
    prices: Prices | None = None,
) -> Findings:
    """Return the answers about a cluster, from a scheduler and an optimiser of its own.

    Parameters
    ----------
    profile
        A KubeSchedulerConfiguration without preemption.
    prices
        Of nodes; without them nodes are counted.

    Raises
    ------
    StowageError
        The scheduler cannot read the objects, or the optimiser failed.
    """
    question = _question(inventory, limits)
    with ExitStack() as stack, ThreadPoolExecutor(1) as pool:
        starting = pool.submit(stack.enter_context, running_service())
        snapshot = snapshot_of(profile, question)
        fits_now = _fits_now(profile, question.instance, snapshot)
        proposing = Proposing(profile, starting.result(), limits)
        placing = proposing.proposal(
            question,
            snapshot,
            lambda seen: proposing.solved(seen, pb.OBJECTIVE_PLACE),
        )
        emptying = _emptying(proposing, question, snapshot, inventory, prices)
    return _findings(snapshot, fits_now, placing, emptying, inventory)


def emptying_of(
    inventory: Inventory,
    profile: Path,
    limits: PlanLimits,
    prices: Prices | None = None,
) -> Emptying:
    """Return which nodes could be emptied; parameters and errors as `findings_of`."""
    question = _question(inventory, limits)
    with ExitStack() as stack, ThreadPoolExecutor(1) as pool:
        starting = pool.submit(stack.enter_context, running_service())
        snapshot = snapshot_of(profile, question)
        proposing = Proposing(profile, starting.result(), limits)
        return _emptying(proposing, question, snapshot, inventory, prices)


def _question(inventory: Inventory, limits: PlanLimits) -> Question:
    instance = Instance(ID, inventory.nodes, inventory.pods, inventory.objects)
    return Question(instance, arguments=limits.arguments)


def _emptying(
    proposing: Proposing,
    question: Question,
    snapshot: pb.Snapshot,
    inventory: Inventory,
    prices: Prices | None,
) -> Emptying:
    question = replace(question, consolidates=True)
    costs = costs_of(inventory.nodes, prices) if prices else None
    proposal = proposing.proposal(
        question, snapshot, lambda seen: dearest(proposing, seen, costs)
    )
    plan, use = proposal.plan, NodeUse(snapshot, proposal.refusals)
    known = plan.HasField("nodes_in_use")
    fewest = plan.nodes_in_use.lower_bound if known else len(use.stays)
    return emptying_by(
        snapshot,
        use,
        plan,
        fewest,
        costs,
        not_judged=_not_judged(inventory.unread, proposal),
    )


def _fits_now(profile: Path, instance: Instance, snapshot: pb.Snapshot) -> int:
    """Return how many waiting pods the scheduler places.

    It is not asked about pods that are larger than what any node has left. It would try
    each on every node; meanwhile room only shrinks, for nobody is preempted.
    """
    hopeless = Capacity(snapshot).without_room()
    waiting = [pod for pod in snapshot.pods if not pod.node]
    names = {f"{pod.namespace}/{pod.name}" for pod in waiting}
    left_out = {pod.uid for pod in waiting if pod.class_id in hopeless}
    pods = tuple(
        pod for pod in instance.pods if pod["metadata"].get("uid") not in left_out
    )
    if len(left_out) == len(waiting):
        return 0
    with Simulator(profile, environment=memory_of(instance)) as simulator:
        placed = simulator.place(replace(instance, pods=pods)).nodes
    return sum(placed.get(name) is not None for name in names)


def _findings(
    snapshot: pb.Snapshot,
    fits_now: int,
    placing: Proposal,
    emptying: Emptying,
    inventory: Inventory,
) -> Findings:
    names = {pod.uid: f"{pod.namespace}/{pod.name}" for pod in snapshot.pods}
    plan = placing.plan
    kept = KeptPods(snapshot)
    running = sum(bool(pod.node) for pod in snapshot.pods)
    not_judged = (*_not_judged(inventory.unread, placing), *emptying.not_judged)
    return Findings(
        nodes=len(snapshot.nodes),
        running=running,
        pending=len(snapshot.pods) - running,
        fits_now=fits_now,
        fits_after=len(plan.placements),
        moves=_moves(snapshot, plan, names),
        evictions=tuple(sorted(names[one.pod_uid] for one in plan.evictions)),
        proved=plan.optimal,
        tiers=tuple(
            Tier(one.priority, one.placed_before, one.placed, one.upper_bound)
            for one in sorted(plan.tiers, key=lambda one: -one.priority)
        ),
        gain_by_moves=_gain_by_moves(plan),
        left=left_pending(snapshot, plan, placing.refusals, kept),
        kept=tuple(kept.by_rule()),
        room=rooms(snapshot),
        emptying=replace(emptying, not_judged=()),
        not_judged=tuple(dict.fromkeys(not_judged)),
    )


def _moves(
    snapshot: pb.Snapshot, plan: pb.Plan, names: Mapping[str, str]
) -> tuple[Move, ...]:
    priorities = {one.id: one.priority for one in snapshot.pod_classes}
    of_pod = {pod.uid: priorities[pod.class_id] for pod in snapshot.pods}
    admitted = Counter(one.node for one in plan.placements)
    highest = dict[str, int]()
    for one in plan.placements:
        priority = of_pod[one.pod_uid]
        highest[one.node] = max(highest.get(one.node, priority), priority)
    moves = (
        Move(
            names[one.pod_uid],
            one.from_node,
            one.to_node,
            admitted[one.from_node],
            highest.get(one.from_node),
        )
        for one in plan.moves
    )
    return tuple(sorted(moves, key=telling))


def _gain_by_moves(plan: pb.Plan) -> tuple[tuple[int, int], ...]:
    """Return how many more pods have a node than now; the plan tells how many have."""
    before = max((one.placed_before for one in plan.tiers), default=0)
    return tuple((one.moves, one.placed - before) for one in plan.gain_by_moves)


def _not_judged(unread: Iterable[str], proposal: Proposal) -> Iterator[NotJudged]:
    for kind in unread:
        yield NotJudged(kind)
    for one in proposal.refusals:
        yield NotJudged(one.reason, one.subject, one.detail)
    for objection in proposal.objections:
        yield NotJudged("a plan that the scheduler's plugins refused", "", objection)
