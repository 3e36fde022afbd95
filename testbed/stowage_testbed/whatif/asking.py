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
    Verification,
)
from stowage_testbed.whatif.capacity import Capacity, rooms
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
    question = Question(_instance(inventory), arguments=limits.arguments)
    with ExitStack() as stack, ThreadPoolExecutor(1) as pool:
        starting = pool.submit(stack.enter_context, running_service())
        read = _read(profile, question)
        snapshot = read.snapshot
        fits_now, placed = _fits_now(profile, question.instance, snapshot)
        asking = _Asking(profile, starting.result(), limits)
        placing = asking.proposal(question, snapshot, pb.OBJECTIVE_PLACE)
        question = replace(question, consolidates=True)
        emptying = asking.proposal(question, snapshot, pb.OBJECTIVE_CONSOLIDATE)
    found = _findings(snapshot, fits_now, placing, emptying, inventory)
    passed_over = tuple(_passed_over(inventory, read, placed))
    return replace(found, not_judged=(*passed_over, *found.not_judged))


def _passed_over(
    inventory: Inventory, read: Verification, placed: Placements
) -> Iterator[NotJudged]:
    """Yield what takes no part: objects that make no sense, and unknown fields."""
    left_out = (*inventory.left_out, *read.left_out, *placed.left_out)
    for one in dict.fromkeys(left_out):
        yield NotJudged("left out", one.object, one.reason)
    for one in placed.awaiting:
        yield NotJudged("a volume that is still to be made", one.object, one.reason)
    for field_ in read.unknown_fields:
        yield NotJudged(
            "a field that this version of the scheduler does not know",
            field_.field,
            f"passed over in {field_.objects} objects",
        )


def _instance(inventory: Inventory) -> Instance:
    return Instance(
        ID, inventory.nodes, inventory.pods, inventory.objects, observed=True
    )


def _read(profile: Path, question: Question) -> Verification:
    with _verifier(profile, question.instance) as verifier:
        return verifier.verify(question)


def _fits_now(
    profile: Path, instance: Instance, snapshot: pb.Snapshot
) -> tuple[int, Placements]:
    """Return how many waiting pods the scheduler places, and all that it says of them.

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
        return 0, Placements(ID, {})
    with Simulator(profile, environment=_memory(instance)) as simulator:
        placed = simulator.place(replace(instance, pods=pods))
    fits = sum(placed.nodes.get(name) is not None for name in names)
    return fits, placed


def _verifier(profile: Path, instance: Instance) -> SchedulerVerifier:
    """Return one for a single question.

    It starts at once, and holds the whole cluster in memory, which the solver and the
    next process of the scheduler want too.
    """
    return SchedulerVerifier(profile, environment=_memory(instance))


def _memory(instance: Instance) -> dict[str, str]:
    """Return where a scheduler's process begins to collect garbage in earnest.

    It is a soft limit: whoever needs more gets it, and is slower.
    """
    objects = len(instance.pods) + len(instance.nodes) + len(instance.objects)
    return {"GOMEMLIMIT": str(BASE_BYTES + BYTES_PER_OBJECT * objects)}


class _Asking:
    """An optimiser, and a scheduler that looks at what it answers."""

    def __init__(
        self, profile: Path, service: RunningService, limits: PlanLimits
    ) -> None:
        self._profile = profile
        self._service = service
        self._limits = limits

    def proposal(
        self, question: Question, snapshot: pb.Snapshot, objective: pb.Objective
    ) -> Proposal:
        """Return a plan that stands the scheduler's own rehearsal."""
        objections: list[str] = []
        for _ in range(REHEARSALS):
            last = self._solved(snapshot, objective)
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
            snapshot = _read(self._profile, question).snapshot
        # No pod moves: that is always allowed.
        return Proposal(pb.Plan(), (), tuple(objections))

    def _verdict(self, question: Question, plan: pb.Plan) -> Verdict:
        with _verifier(self._profile, question.instance) as verifier:
            (verdict,) = verifier.verdicts(replace(question, plans=(plan,)))
        return verdict

    def _solved(self, snapshot: pb.Snapshot, objective: pb.Objective) -> pb.SolveUpdate:
        options = pb.SolveOptions(
            time_limit_s=self._limits.time_limit_s,
            policy=pb.POLICY_STRICT,
            objective=objective,
            max_moves=self._limits.max_moves,
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
