"""A plan that empties nodes, what is left of it, and what it saves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.defragment.findings import (
    NO_PLACE,
    NOT_WORTH_IT,
    REHEARSED,
    RESERVED,
    Bill,
    Certainty,
    Defragmentation,
    EmptiedNode,
    LeftOut,
    PodMove,
)
from stowage_testbed.defragment.gain import Gains
from stowage_testbed.defragment.kinds import bills, kind_of
from stowage_testbed.defragment.options import Options
from stowage_testbed.defragment.rehearsal import Leaving, Rehearsal, by_node, most_that_holds
from stowage_testbed.defragment.scope import Scope
from stowage_testbed.defragment.turns import Turns
from stowage_testbed.simulate import Instance, Simulator, Verification
from stowage_testbed.text.lines import count
from stowage_testbed.whatif.allowance import Allowance
from stowage_testbed.whatif.findings import NotJudged
from stowage_testbed.whatif.in_use import emptied_by, irremovable_nodes, nodes_in_use, nodes_kept_in_use
from stowage_testbed.whatif.inventory import Inventory, part_of
from stowage_testbed.whatif.judged import uid_of
from stowage_testbed.whatif.kept import KeptPods
from stowage_testbed.whatif.proof import refused_classes, unjudged_running
from stowage_testbed.whatif.proposing import Proposal
from stowage_testbed.whatif.release import STOCK_NAME


@dataclass(slots=True)
class Answer:
    """What is known, put together."""

    inventory: Inventory
    options: Options
    first: Verification
    scope: Scope
    proposal: Proposal
    certainty: Certainty | None = field(init=False, default=None)
    left_out: list[LeftOut] = field(init=False, default_factory=list)
    _leaving: tuple[Leaving, ...] = field(init=False)
    _making_room: tuple[pb.Move, ...] = field(init=False)
    _gain: dict[str, Fraction] = field(init=False)
    _goes: dict[str, str] = field(init=False)
    _objections: list[str] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        plan, gains = self.proposal.plan, Gains(self.scope.snapshot, self.scope.used)
        emptied = emptied_by(self.scope.snapshot, plan)
        self._goes = {one.pod_uid: one.to_node for one in plan.moves}
        leaves = by_node((one.pod_uid, one.from_node) for one in plan.moves)
        self._gain = {node: gains.of(node, leaves[node]) for node in emptied}
        order = sorted(emptied, key=lambda node: (-self._gain[node], len(leaves[node]), node))
        least, turn = self.options.least_gain, Turns(self.scope.snapshot).of
        for node in order:
            if self._gain[node] < least:
                detail = f"its gain is {float(self._gain[node]):.3g}"
                self._leave_out(node, NOT_WORTH_IT, detail)
        self._leaving = tuple(Leaving(node, turn(leaves[node])) for node in order if self._gain[node] >= least)
        self._making_room = tuple(one for one in plan.moves if one.from_node not in self._gain)
        self.certainty = self._certainty()

    def _leave_out(self, node: str, why: str, detail: str) -> None:
        gain = round(float(self._gain[node]), 4)
        self.left_out.append(LeftOut(node, why, detail, gain))

    def _names(self) -> Mapping[str, str]:
        return {pod.uid: f"{pod.namespace}/{pod.name}" for pod in self.scope.snapshot.pods}

    def _certainty(self) -> Certainty | None:
        """Return how sure it is, by who places the replacements."""
        moved = {uid for one in self._leaving for uid in one.pods}
        if not moved:
            return None
        names = {
            str(part_of(pod, "spec").get("schedulerName") or STOCK_NAME)
            for pod in self.inventory.pods
            if uid_of(pod) in moved
        }
        return RESERVED if names == {self.options.own} else REHEARSED

    def plan(self) -> pb.Plan:
        """Return the plan without the moves off nodes that are left as they are."""
        kept = {one.node for one in self._leaving}
        plan = pb.Plan(snapshot_id=self.proposal.plan.snapshot_id)
        plan.moves.extend(
            one for one in self.proposal.plan.moves if one.from_node in kept or one.from_node not in self._gain
        )
        return plan

    def give_up(self, detail: str) -> None:
        """Propose nothing: what is left of the plan was refused."""
        self._objections.append(detail)
        self._leaving, self._making_room, self.certainty = (), (), None

    def rehearse(self, simulator: Simulator, instance: Instance, allowance: Allowance) -> None:
        """Keep what the scheduler of the pods finds places for; it opens no node."""
        opened = nodes_in_use(self.scope.snapshot, self._goes) & self.scope.idle
        rehearsal = Rehearsal(
            simulator,
            replace(instance, pods=self._taking_part(instance)),
            closed=self.scope.idle - opened,
            used=nodes_in_use(self.scope.snapshot) | opened,
        )
        kept = most_that_holds(rehearsal.of, self._leaving, allowance.left_s)
        self._leaving, self._goes = kept.leaving, dict(kept.targets)
        # Nobody steers these: the scheduler has its own idea of where they would go.
        self._making_room = ()
        for node, why in kept.failed.items():
            self._leave_out(node, NO_PLACE, why)
        if self._costs_more():
            self.give_up("the nodes taken into use cost as much as is saved")
        if not self._leaving:
            self.certainty = None

    def _costs_more(self) -> bool:
        """Return whether idle nodes that are taken into use eat up the saving."""
        gone = frozenset(one.node for one in self._leaving)
        opened, saved = self.scope.bill(self._opened()), self.scope.bill(gone)
        if saved.hourly_micros:
            return opened.hourly_micros >= saved.hourly_micros
        return 0 < saved.nodes <= opened.nodes

    def _taking_part(self, instance: Instance) -> tuple[Mapping[str, Any], ...]:
        """Return the pods without those that the scheduler could not read at all.

        It would leave them out again, and then those that come after would be counted
        otherwise.
        """
        there = {pod.uid for pod in self.first.snapshot.pods}
        refused = {one.object for one in self.first.left_out}
        return tuple(pod for pod in instance.pods if uid_of(pod) in there or f"Pod {_full_name(pod)}" not in refused)

    def findings(self) -> Defragmentation:
        """Return all of it."""
        scope, names = self.scope, self._names()
        kinds = self._kinds()
        bills_by_node = {node: scope.bill(frozenset({node})) for node in self._gain}
        moves = {uid: PodMove(names[uid], "", to) for uid, to in self._goes.items()}
        emptied = tuple(
            EmptiedNode(
                one.node,
                kinds[one.node],
                bills_by_node[one.node].hourly_micros,
                round(float(self._gain[one.node]), 4),
                tuple(replace(moves[uid], from_node=one.node) for uid in one.pods),
            )
            for one in self._leaving
        )
        gone = frozenset(one.name for one in emptied)
        opened = self._opened()
        known = self.proposal.plan.HasField("nodes_in_use")
        return Defragmentation(
            nodes=len(scope.names),
            idle_nodes=len(scope.idle),
            before=scope.bill(scope.used),
            after=scope.bill((scope.used - gone) | opened),
            least=self._least() if known else Bill(0, 0),
            emptied=emptied,
            opened=tuple(sorted(opened)),
            making_room=tuple(PodMove(names[one.pod_uid], one.from_node, one.to_node) for one in self._making_room),
            certainty=self.certainty,
            left_out=tuple(self.left_out),
            limits=self.options.limits.words(),
            aside=tuple(self._aside()),
            kinds=bills(scope, kinds, gone),
            without_price=self._without_price(),
            kept=tuple(KeptPods(scope.snapshot).by_rule()),
            not_judged=tuple(dict.fromkeys(self._not_judged())),
            in_time=self.proposal.in_time,
            irremovable=irremovable_nodes(scope.snapshot, scope.names),
        )

    def _least(self) -> Bill:
        """Return what is proved, also where not all plans were judged.

        Then only rules of the cluster are sure to keep nodes in use.
        """
        scope = self.scope
        if not self.proposal.pairs and not any(self._unjudged()):
            return scope.least(self.proposal.plan.nodes_in_use)
        return scope.bill(nodes_kept_in_use(scope.snapshot) & scope.names)

    def _unjudged(self) -> Iterator[str]:
        """Yield the running pods of the scope that plans leave alone, in words."""
        refused = refused_classes(self.scope.snapshot, self.proposal.refusals, {})
        return unjudged_running(self.scope.snapshot, refused, self.scope.names)

    def _opened(self) -> frozenset[str]:
        leaving = {uid for one in self._leaving for uid in one.pods}
        leaving |= {one.pod_uid for one in self._making_room}
        return frozenset(node for uid, node in self._goes.items() if uid in leaving) - nodes_in_use(self.scope.snapshot)

    def _kinds(self) -> Mapping[str, str]:
        labels = {str(node["metadata"]["name"]): part_of(node["metadata"], "labels") for node in self.inventory.nodes}
        return {node.name: kind_of(node, labels[node.name]) for node in self.scope.snapshot.nodes}

    def _without_price(self) -> tuple[str, ...]:
        nodes = self.scope.snapshot.nodes
        if not any(node.hourly_price_micros for node in nodes):
            return ()
        return tuple(node.name for node in nodes if node.name in self.scope.used and not node.hourly_price_micros)

    def _aside(self) -> Iterator[str]:
        if pairs := self.proposal.pairs:
            yield f"{pairs:,} placements that a plugin refused within a plan"
        yield from self._unjudged()
        others = sum(not one.subject.startswith("class ") for one in self.proposal.refusals)
        if others:
            yield f"{count(others, 'object')} that could not be judged"

    def _not_judged(self) -> Iterator[NotJudged]:
        for kind in self.inventory.unread:
            yield NotJudged(kind)
        for one in dict.fromkeys((*self.inventory.left_out, *self.first.left_out)):
            yield NotJudged("left out", one.object, one.reason)
        for refusal in self.proposal.refusals:
            yield NotJudged(refusal.reason, refusal.subject, refusal.detail)
        for objection in (*self.proposal.objections, *self._objections):
            yield NotJudged("a plan that the scheduler's plugins refused", "", objection)


def _full_name(pod: Mapping[str, Any]) -> str:
    meta = pod["metadata"]
    return f"{meta.get('namespace', '')}/{meta['name']}"
