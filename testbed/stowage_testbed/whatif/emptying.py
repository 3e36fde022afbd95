"""Which nodes could be emptied, after which moves, and what that saves."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import chain
from typing import Any

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.amounts.resources import CPU, MEMORY, resources_of, spell
from stowage_testbed.api.label_selector import selects
from stowage_testbed.base.errors import InputError
from stowage_testbed.simulate.process import Simulator
from stowage_testbed.text.tables import count
from stowage_testbed.whatif.engine import Engine, Leaving, Proposal, key_of, most_that_holds, rehearse, running_engine
from stowage_testbed.whatif.findings import (
    Bill,
    Certainty,
    Defragmentation,
    EmptiedNode,
    IrremovableNode,
    KindBill,
    LeftOut,
    NotJudged,
    PodMove,
)
from stowage_testbed.whatif.inventory import Inventory, Manifest, labels_of, scheduler_of, uid_of
from stowage_testbed.whatif.outcome import UNSUPPORTED, Immovable, nodes_in_use, nodes_kept_in_use, refused_classes
from stowage_testbed.whatif.settings import INSTANCE_TYPE, POOL, SPOT, PlanLimits, capacity_type, first_label

SOLVING_SHARE = 0.6  # Of the time, for the plan; the rest is for rehearsing it
OUT_OF_SCOPE = "out-of-scope"  # Why a pod stays that runs on a node which was not asked about
LEAST_COST = Fraction(1, 10)
DELETION_COSTS, PRIORITIES = 2**27, 2**25
"""So much of a pod's deletion cost, or of its priority, adds the cost of one move."""

_GIB = 2**30


@dataclass(frozen=True, slots=True)
class Options:
    """What plans may do, the scheduler ``own`` that reserves room, the least gain, and which nodes, by a selector."""

    limits: PlanLimits
    own: str
    least_gain: Fraction = Fraction(0)
    nodes: Mapping[str, Any] | None = None


def defragmentation_of(inventory: Inventory, options: Options) -> Defragmentation:
    """Return which nodes could be emptied, and how sure that is.

    Raises an InputError if the options select no node, and a StowageError if the scheduler cannot read the objects or
    the optimiser fails.
    """
    with running_engine(inventory, options.limits) as engine:
        question = replace(engine.question, consolidates=True)
        with engine.verifier() as verifier:
            snapshot = engine.read(verifier, question)
        scope = scope_of(inventory, snapshot, options.nodes)
        proposal = engine.proposal(question, scope.snapshot, pb.OBJECTIVE_CONSOLIDATE, SOLVING_SHARE)
    answer = _Answer(engine, options, scope, proposal)
    if answer.certainty == "Rehearsed":
        with Simulator(engine.profile, feature_gates=engine.release.feature_gates, minor=inventory.minor) as simulator:
            answer.rehearse(simulator)
    elif answer.left_out:
        with engine.verifier() as verifier:
            (said,) = verifier.judge(replace(question, plans=(answer.plan(),))).of_plans
        if not said.accepted:
            answer.give_up(said.detail)
    return answer.findings()


@dataclass(frozen=True, slots=True)
class Scope:
    """The nodes that are asked about, and those in use.

    In the snapshot others have no further room, and their pods stay.
    """

    snapshot: pb.Snapshot
    names: frozenset[str]
    used: frozenset[str]

    @property
    def idle(self) -> frozenset[str]:
        """Those that are not in use."""
        return self.names - self.used

    def bill(self, nodes: Iterable[str]) -> Bill:
        """Return what nodes cost."""
        names = frozenset(nodes)
        return Bill(len(names), sum(one.hourly_price_micros for one in self.snapshot.nodes if one.name in names))

    def irremovable(self) -> tuple[IrremovableNode, ...]:
        """Return those that autoscalers may not remove, and why."""
        kept = ((one.name, one.irremovable_reason) for one in self.snapshot.nodes if one.irremovable_reason)
        return tuple(IrremovableNode(name, reason) for name, reason in kept if name in self.names)

    def unjudged(self, refused: Mapping[str, str]) -> list[str]:
        """Return, in words, the pods on them that no plan moves although no rule keeps them: no proof is of these."""
        held = Counter(
            refused[pod.class_id]
            for pod in self.snapshot.pods
            if pod.node in self.names
            and pod.class_id in refused
            and (pod.movable or pod.immovable_reason == UNSUPPORTED)
        )
        return [f"{count(pods, 'running pod')} that no plan could move: {why}" for why, pods in held.items()]

    def emptied(self, plan: pb.Plan) -> tuple[str, ...]:
        """Return those in use that a plan leaves unused, in alphabetical order."""
        goes = {one.pod_uid: one.to_node for one in plan.moves}
        return tuple(sorted(self.used - nodes_in_use(self.snapshot, goes)))

    def least(self, proposal: Proposal, of_unread: Mapping[str, str]) -> Bill:
        """Return the proved limits of these nodes, by those of all: the others in use stay so in every plan.

        Where not all plans were judged, only rules of the cluster keep nodes in use for sure.
        """
        refused = refused_classes(self.snapshot, proposal.refusals, of_unread)
        if proposal.forbidden or self.unjudged(refused):
            return self.bill(nodes_kept_in_use(self.snapshot) & self.names)
        limit, others = proposal.plan.nodes_in_use, self.bill(nodes_in_use(self.snapshot) - self.names)
        return Bill(limit.lower_bound - others.nodes, max(0, limit.price_lower_bound_micros - others.hourly_micros))


def scope_of(inventory: Inventory, snapshot: pb.Snapshot, selector: Mapping[str, Any] | None) -> Scope:
    """Return the nodes that a selector selects; without one, all."""
    known = {node.name for node in snapshot.nodes}
    names = frozenset(
        name
        for node in inventory.nodes
        if (name := str(node["metadata"]["name"])) in known and (not selector or selects(selector, labels_of(node)))
    )
    if not names:
        raise InputError(
            "no node has the labels that --node-selector asks for; kubectl get nodes --show-labels lists them"
        )
    own = snapshot
    if len(names) != len(snapshot.nodes):
        own = pb.Snapshot()
        own.CopyFrom(snapshot)
        there = Counter(pod.node for pod in own.pods)
        for node in own.nodes:
            if node.name not in names:
                node.allocatable.pods = there[node.name]
        for pod in own.pods:
            if pod.node and pod.node not in names and pod.movable:
                pod.movable, pod.immovable_reason = False, OUT_OF_SCOPE
    return Scope(own, names, nodes_in_use(snapshot) & names)


def cost_of_move(deletion_cost: int, priority: int) -> Fraction:
    """Return what moving a pod costs: 1 for one like most."""
    return max(LEAST_COST, 1 + Fraction(deletion_cost, DELETION_COSTS) + Fraction(priority, PRIORITIES))


def gains_of(scope: Scope, leave: Mapping[str, Sequence[str]]) -> dict[str, Fraction]:
    """Return what emptying each node brings, over what it takes; its pods, told by UID, ``leave``.

        gain(node) = (price of the node / price of all nodes in use)
                   / (cost of its moves / cost of moving all pods that may move)

    Karpenter's policy ``Balanced`` has the formula. A gain of 1 is that of the whole: the
    node saves as much of the price as its moves are of all moves.
    """
    prices = {one.name: one.hourly_price_micros for one in scope.snapshot.nodes}
    # Where no node has a price, each counts as one.
    prices = prices if any(prices.values()) else dict.fromkeys(prices, 1)
    priorities = {one.id: one.priority for one in scope.snapshot.pod_classes}
    costs = {
        pod.uid: cost_of_move(pod.deletion_cost, priorities[pod.class_id])
        for pod in scope.snapshot.pods
        if pod.node and pod.movable
    }
    all_prices, all_costs = sum(prices[name] for name in scope.used), sum(costs.values(), Fraction(0))
    gains = dict.fromkeys(leave, Fraction(0))
    for node, pods in leave.items():
        effort = sum((costs[uid] for uid in pods), Fraction(0))
        if all_prices and effort:
            gains[node] = Fraction(prices[node], all_prices) / (effort / all_costs)
    return gains


def hardest_first(snapshot: pb.Snapshot, uids: Iterable[str]) -> tuple[str, ...]:
    """Return pods as the release evicts them: by priority from the highest, then by the share of their node."""
    room = {one.name: resources_of(one.allocatable) for one in snapshot.nodes}
    classes = {one.id: (one.priority, resources_of(one.requests)) for one in snapshot.pod_classes}
    wanted = set(uids)

    def order(pod: pb.Pod) -> tuple[int, Fraction, str]:
        priority, requests = classes[pod.class_id]
        has = room[pod.node]
        shares = (Fraction(requests[name], has[name]) for name in requests if has[name])
        return -priority, -max(shares, default=Fraction(0)), f"{pod.namespace}/{pod.name}"

    return tuple(pod.uid for pod in sorted((pod for pod in snapshot.pods if pod.uid in wanted), key=order))


def kind_of(node: pb.Node, labels: Mapping[str, Any]) -> str:
    """Return a node's kind: ``m5.large spot``, ``pool-a``, ``4 cpu, 16 GiB``."""
    name = first_label(labels, INSTANCE_TYPE) or first_label(labels, POOL)
    if not name:
        has = resources_of(node.allocatable)
        name = f"{spell(CPU, has[CPU])} cpu, {has[MEMORY] / _GIB:.0f} GiB"
    return f"{name} {SPOT}" if capacity_type(labels) == SPOT else name


class _Answer:
    """A plan that empties nodes, what is left of it, and what it saves."""

    def __init__(self, engine: Engine, options: Options, scope: Scope, proposal: Proposal) -> None:
        self._engine = engine
        self._options = options
        self._scope = scope
        self._proposal = proposal
        self.left_out: list[LeftOut] = []
        plan = proposal.plan
        self._goes: Mapping[str, str] = {one.pod_uid: one.to_node for one in plan.moves}
        leaves = defaultdict[str, list[str]](list)
        for one in plan.moves:
            leaves[one.from_node].append(one.pod_uid)
        self._gain = gains_of(scope, {node: leaves[node] for node in scope.emptied(plan)})
        order = sorted(self._gain, key=lambda node: (-self._gain[node], len(leaves[node]), node))
        leaving = dict[str, Sequence[str]]()
        for node in order:
            if self._gain[node] >= options.least_gain:
                leaving[node] = hardest_first(scope.snapshot, leaves[node])
            else:
                self._leave_out(node, "not worth the moves", f"its gain is {float(self._gain[node]):.3g}")
        self._leaving: Leaving = leaving
        self._making_room = tuple(one for one in plan.moves if one.from_node not in self._gain)
        # How sure it is depends on who places the replacements.
        moved = set(chain.from_iterable(self._leaving.values()))
        names = {scheduler_of(pod) for pod in engine.inventory.pods if uid_of(pod) in moved}
        self.certainty: Certainty | None = None
        if moved:
            self.certainty = "Reserved" if names == {options.own} else "Rehearsed"

    def _leave_out(self, node: str, why: str, detail: str) -> None:
        self.left_out.append(LeftOut(node, why, detail, round(float(self._gain[node]), 4)))

    def plan(self) -> pb.Plan:
        """Return the plan without the moves off nodes that are left as they are."""
        plan, all_moves = pb.Plan(snapshot_id=self._proposal.plan.snapshot_id), self._proposal.plan.moves
        plan.moves.extend(one for one in all_moves if one.from_node in self._leaving or one.from_node not in self._gain)
        return plan

    def give_up(self, detail: str) -> None:
        """Propose nothing: what is left of the plan was refused."""
        self._proposal.objections.append(detail)
        self._leaving, self._making_room, self.certainty = {}, (), None

    def rehearse(self, simulator: Simulator) -> None:
        """Keep what the scheduler of the pods finds places for; it opens no node."""
        scope, engine = self._scope, self._engine
        used = nodes_in_use(scope.snapshot)
        opened = nodes_in_use(scope.snapshot, self._goes) & scope.idle
        # The scheduler would leave out again what it could not read, and count otherwise.
        there = {pod.uid for pod in engine.first.snapshot.pods}
        refused = {one.object for one in engine.first.left_out}
        pods: tuple[Manifest, ...] = tuple(
            pod for pod in engine.instance.pods if uid_of(pod) in there or f"Pod {key_of(pod, '')}" not in refused
        )
        instance = replace(engine.instance, pods=pods)
        tried = partial(rehearse, simulator, instance, scope.idle - opened, used | opened)
        self._leaving, self._goes, failed = most_that_holds(tried, self._leaving, engine.allowance.left_s)
        # Nobody steers these: the scheduler has its own idea of where they would go.
        self._making_room = ()
        for node, why in failed.items():
            self._leave_out(node, "no place for the pods", why)
        taken, saved = scope.bill(self._opened()), scope.bill(self._leaving)
        costs_as_much = taken.hourly_micros >= saved.hourly_micros
        if costs_as_much if saved.hourly_micros else 0 < saved.nodes <= taken.nodes:
            self.give_up("the nodes taken into use cost as much as is saved")
        if not self._leaving:
            self.certainty = None

    def _opened(self) -> frozenset[str]:
        moved = (*chain.from_iterable(self._leaving.values()), *(one.pod_uid for one in self._making_room))
        return frozenset(map(self._goes.__getitem__, moved)) - nodes_in_use(self._scope.snapshot)

    def findings(self) -> Defragmentation:
        """Return all of it."""
        scope, proposal = self._scope, self._proposal
        names = {pod.uid: f"{pod.namespace}/{pod.name}" for pod in scope.snapshot.pods}
        labels = {str(node["metadata"]["name"]): labels_of(node) for node in self._engine.inventory.nodes}
        kinds = {node.name: kind_of(node, labels[node.name]) for node in scope.snapshot.nodes}
        prices = {node.name: node.hourly_price_micros for node in scope.snapshot.nodes}
        emptied = tuple(
            EmptiedNode(
                node,
                kinds[node],
                prices[node],
                round(float(self._gain[node]), 4),
                tuple(PodMove(names[uid], node, self._goes[uid]) for uid in pods),
            )
            for node, pods in self._leaving.items()
        )
        gone, opened = frozenset(one.name for one in emptied), self._opened()
        return Defragmentation(
            nodes=len(scope.names),
            idle_nodes=len(scope.idle),
            before=scope.bill(scope.used),
            after=scope.bill((scope.used - gone) | opened),
            least=scope.least(proposal, {}) if proposal.plan.HasField("nodes_in_use") else Bill(0, 0),
            emptied=emptied,
            opened=tuple(sorted(opened)),
            making_room=tuple(PodMove(names[one.pod_uid], one.from_node, one.to_node) for one in self._making_room),
            certainty=self.certainty,
            left_out=tuple(self.left_out),
            limits=self._options.limits.words(),
            aside=tuple(self._left_aside()),
            kinds=_bills_by_kind(scope, kinds, prices, gone),
            without_price=tuple(name for name, price in prices.items() if name in scope.used and not price)
            if any(prices.values())
            else (),
            kept=Immovable(scope.snapshot).by_rule(),
            not_judged=tuple(dict.fromkeys(self._not_judged())),
            in_time=proposal.in_time,
            irremovable=scope.irremovable(),
        )

    def _left_aside(self) -> Iterator[str]:
        scope, proposal = self._scope, self._proposal
        if proposal.forbidden:
            yield f"{len(proposal.forbidden):,} placements that a plugin refused within a plan"
        # Plans that move these were not judged.
        yield from scope.unjudged(refused_classes(scope.snapshot, proposal.refusals, {}))
        others = sum(not one.subject.startswith("class ") for one in proposal.refusals)
        if others:
            yield f"{count(others, 'object')} that could not be judged"

    def _not_judged(self) -> Iterator[NotJudged]:
        inventory = self._engine.inventory
        yield from map(NotJudged, inventory.unread)
        for one in (*inventory.left_out, *self._engine.first.left_out):
            yield NotJudged("left out", one.object, one.reason)
        yield from self._proposal.refused()
        yield from self._proposal.objected()


def _bills_by_kind(
    scope: Scope, kinds: Mapping[str, str], prices: Mapping[str, int], emptied: frozenset[str]
) -> tuple[KindBill, ...]:
    """Return the nodes in use by kind, the dearest first; the sum is that of all."""
    members = defaultdict[str, set[str]](set)
    for node in scope.used:
        members[kinds[node]].add(node)
    bills = []
    for kind, nodes in members.items():
        different = {prices[name] for name in nodes}
        each = different.pop() if len(different) == 1 else None
        bills.append(KindBill(kind, scope.bill(nodes), scope.bill(nodes & emptied), each))
    return tuple(sorted(bills, key=lambda one: (-one.used.hourly_micros, -one.used.nodes, one.kind)))
