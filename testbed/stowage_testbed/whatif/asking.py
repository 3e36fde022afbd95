"""Asks scheduler and optimiser about a cluster that neither of them touches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.optimizer_service.service import (
    RunningService,
    no_answer,
    running_service,
)
from stowage_testbed.simulate import (
    Instance,
    Placements,
    Question,
    SchedulerVerifier,
    Simulator,
    Verdict,
)
from stowage_testbed.whatif.capacity import rooms
from stowage_testbed.whatif.findings import (
    Findings,
    Move,
    NotJudged,
    Tier,
    telling,
)
from stowage_testbed.whatif.inventory import Inventory
from stowage_testbed.whatif.kept import KeptPods, left_pending

REHEARSALS = 8
"""How often a plan that a plugin refuses is made again, without what it refused."""

ID = "whatif"

BASE_BYTES, BYTES_PER_OBJECT = 200 << 20, 24 << 10
"""Of a scheduler's process, whose garbage would otherwise be four times what it holds.
"""


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


def findings_of(inventory: Inventory, profile: Path, limits: PlanLimits) -> Findings:
    """Return the answers about a cluster, from a scheduler and an optimiser of its own.

    Parameters
    ----------
    profile
        A KubeSchedulerConfiguration without preemption.

    Raises
    ------
    StowageError
        The scheduler cannot read the objects, or the optimiser failed.
    """
    with ThreadPoolExecutor(1) as pool, ExitStack() as stack:
        # The scheduler places what it can while the service starts, and is gone before
        # the verifier comes: each of them holds the whole cluster in memory.
        with Simulator(profile, environment=_memory(inventory)) as simulator:
            placing = pool.submit(simulator.place, instance_of(inventory))
            service = stack.enter_context(running_service())
            placements = placing.result()
        return Asking(profile, service).findings(inventory, placements, limits)


def instance_of(inventory: Inventory) -> Instance:
    """Return the cluster as the scheduler is given it."""
    return Instance(ID, inventory.nodes, inventory.pods, inventory.objects)


def _memory(of: Inventory | Instance) -> dict[str, str]:
    """Return where a scheduler's process begins to collect garbage in earnest.

    It is a soft limit: whoever needs more gets it, and is slower.
    """
    objects = len(of.pods) + len(of.nodes) + len(of.objects)
    return {"GOMEMLIMIT": str(BASE_BYTES + BYTES_PER_OBJECT * objects)}


class Asking:
    """An optimiser, and a scheduler that looks at what it answers, for one cluster.

    Parameters
    ----------
    profile
        A KubeSchedulerConfiguration without preemption.
    service
        The optimiser.
    """

    def __init__(self, profile: Path, service: RunningService) -> None:
        self._profile = profile
        self._service = service

    def findings(
        self, inventory: Inventory, placements: Placements, limits: PlanLimits
    ) -> Findings:
        """Return the answers.

        Parameters
        ----------
        placements
            Where the scheduler puts the cluster's pods as things are.

        Raises
        ------
        StowageError
            The scheduler cannot read the objects, or the optimiser failed.
        """
        question = Question(instance_of(inventory), arguments=limits.arguments)
        snapshot = self._snapshot(question)
        placing = self._proposal(question, snapshot, limits, pb.OBJECTIVE_PLACE)
        emptying = self._proposal(
            replace(question, consolidates=True),
            snapshot,
            limits,
            pb.OBJECTIVE_CONSOLIDATE,
        )
        return _findings(
            snapshot, _fits_now(placements, snapshot), placing, emptying, inventory
        )

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
            if not _changes(last.plan):
                # The scheduler has nothing to refuse.
                return Proposal(last.plan, tuple(last.refusals), tuple(objections))
            verdict = self._verdict(question, last.plan)
            if verdict.accepted:
                return Proposal(last.plan, tuple(last.refusals), tuple(objections))
            objections.append(verdict.detail)
            pairs = _pairs(snapshot, last.plan, verdict.pods)
            if not pairs:
                break
            question = replace(question, forbidden=(*question.forbidden, *pairs))
            snapshot = self._snapshot(question)
        # No pod moves: that is always allowed.
        return Proposal(pb.Plan(), (), tuple(objections))

    def _snapshot(self, question: Question) -> pb.Snapshot:
        with self._verifier(question) as verifier:
            return verifier.verify(question).snapshot

    def _verdict(self, question: Question, plan: pb.Plan) -> Verdict:
        with self._verifier(question) as verifier:
            (verdict,) = verifier.verdicts(replace(question, plans=(plan,)))
        return verdict

    def _verifier(self, question: Question) -> SchedulerVerifier:
        """Return one for a single question: it starts at once, and holds a cluster."""
        return SchedulerVerifier(self._profile, environment=_memory(question.instance))

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


def _changes(plan: pb.Plan) -> bool:
    return bool(plan.placements or plan.moves or plan.evictions)


def _pairs(
    snapshot: pb.Snapshot, plan: pb.Plan, refused: Sequence[str]
) -> list[tuple[str, str]]:
    """Return which pods were refused where, as ``namespace/name``."""
    names = {pod.uid: f"{pod.namespace}/{pod.name}" for pod in snapshot.pods}
    targets = {one.pod_uid: one.node for one in plan.placements}
    targets |= {one.pod_uid: one.to_node for one in plan.moves}
    return [(names[uid], targets[uid]) for uid in refused if uid in targets]


def _fits_now(placements: Placements, snapshot: pb.Snapshot) -> int:
    waiting = (pod for pod in snapshot.pods if not pod.node)
    names = (f"{pod.namespace}/{pod.name}" for pod in waiting)
    return sum(placements.nodes.get(name) is not None for name in names)


def _findings(
    snapshot: pb.Snapshot,
    fits_now: int,
    placing: Proposal,
    emptying: Proposal,
    inventory: Inventory,
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
        used_nodes=in_use.before if known else None,
        needed_nodes=in_use.after if known else None,
        fewest_nodes=in_use.lower_bound if known else None,
        emptied=_emptied(snapshot, fewer),
        consolidating_moves=len(fewer.moves),
        not_judged=tuple(
            dict.fromkeys(_not_judged(inventory.unread, (placing, emptying)))
        ),
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


def _emptied(snapshot: pb.Snapshot, plan: pb.Plan) -> tuple[str, ...]:
    """Return the nodes that hold movable pods before, and none after."""
    goes = {one.pod_uid: one.to_node for one in plan.moves}
    movable = [pod for pod in snapshot.pods if pod.node and pod.movable]
    before = {pod.node for pod in movable}
    after = {goes.get(pod.uid, pod.node) for pod in movable}
    return tuple(sorted(before - after))


def _not_judged(
    unread: Iterable[str], proposals: Iterable[Proposal]
) -> Iterator[NotJudged]:
    for kind in unread:
        yield NotJudged(kind)
    for proposal in proposals:
        for one in proposal.refusals:
            yield NotJudged(one.reason, one.subject, one.detail)
        for objection in proposal.objections:
            yield NotJudged(
                "a plan that the scheduler's plugins refused", "", objection
            )
