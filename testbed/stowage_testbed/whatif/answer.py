"""Would the pods that wait fit if others moved? The answer, put together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.toolchain.minors import is_of_minor
from stowage_testbed.whatif.blocked import (
    Aside,
    Blocked,
    Bounds,
    Helped,
    Immovable,
    helped,
    proof_of,
    refused_classes,
    without_rules,
)
from stowage_testbed.whatif.engine import PLACING_SHARE, Engine, Proposal, running_engine
from stowage_testbed.whatif.findings import Findings, HourlyPrice, Move, NotJudged
from stowage_testbed.whatif.inventory import FURTHER, Inventory, labels_of, uid_of
from stowage_testbed.whatif.outcome import (
    Outcome,
    Ranking,
    emptied_by,
    irremovable_nodes,
    leaving_in_turn,
    nodes_kept_in_use,
    outcome_of,
    rooms,
    unjudged_running,
)
from stowage_testbed.whatif.reading import NO_BUDGETS
from stowage_testbed.whatif.release import PlanLimits

BUDGET = "PodDisruptionBudget"


def findings_of(inventory: Inventory, profile: Path, limits: PlanLimits) -> Findings:
    """Return how many pending pods would fit, after which moves, and what is idle.

    The profile is a KubeSchedulerConfiguration without preemption. Raises a StowageError if the scheduler cannot read
    the objects, or the optimiser fails.
    """
    with running_engine(inventory, profile, limits) as engine:
        with ThreadPoolExecutor(1) as pool, engine.verifier() as verifier:
            snapshot = engine.read(verifier, engine.question)
            # The scheduler has a core of its own while the optimiser searches, not
            # while the next one reads, which judges the plan.
            continuing_s = engine.allowance.continuing_s(2 * engine.reading_s)
            as_it_is = pool.submit(verifier.judge, replace(engine.question, continue_s=continuing_s))
            placing = engine.proposal(engine.question, snapshot, pb.OBJECTIVE_PLACE, PLACING_SHARE)
            engine.first = replace(engine.first, continued=as_it_is.result().continued)
        answer = _Answer(engine, placing)
        answer.ask_without_rules()
        question = replace(engine.question, consolidates=True)
        emptying = engine.proposal(question, leaving_in_turn(snapshot), pb.OBJECTIVE_CONSOLIDATE, 1.0)
    return answer.findings(emptying)


class _Answer:
    """What is known about a cluster, put together."""

    def __init__(self, engine: Engine, placing: Proposal) -> None:
        self._engine = engine
        self._inventory = engine.inventory
        self._first = engine.first
        self._placing = placing
        self._snapshot = snapshot = engine.first.snapshot
        self._ranking = ranking = Ranking(snapshot)
        self._now = now = outcome_of(snapshot, pb.Plan(), engine.first.continued)
        changed = placing.continued is not None
        planned = outcome_of(snapshot, placing.plan, placing.continued if changed else engine.first.continued)
        # What the scheduler places as things are is a plan too.
        self._found: Outcome = now if ranking.better(now, planned) else planned
        self._helped: Helped | None = None
        self._left_out = tuple(dict.fromkeys((*self._inventory.left_out, *engine.first.left_out)))
        self._unjudged = refused_classes(snapshot, placing.refusals, engine.candidates.of_unread)
        tiers = ranking.tiers(self._found, placing.plan)
        self._proof = proof_of(snapshot, placing.plan, self._found, tiers, self._aside())
        # A limit that is proved of a part of the problem is none of the cluster.
        self._tiers = ranking.tiers(self._found, pb.Plan()) if self._proof.others else tiers

    def _aside(self) -> Aside:
        names = " or ".join(self._engine.limits.release.schedulers)
        other = f", with the plugins of Kubernetes {self._inventory.minor}" if self._is_of_another_minor() else ""
        unread = "; the files list no disruption budgets" if NO_BUDGETS in self._inventory.unread else ""
        return Aside(
            about=f"pods that wait for {names}, and plans within the rules for running pods{other}{unread}",
            classes=self._unjudged,
            of_unread=self._engine.candidates.of_unread,
            limits=self._engine.limits.words(),
            pairs=self._placing.pairs,
            dropped=self._placing.dropped,
            alike=self._placing.alike,
            budgets_unread=FURTHER[BUDGET] in self._inventory.unread,
            left_out=len(self._left_out),
            unknown=len(self._first.unknown_fields),
        )

    def _is_of_another_minor(self) -> bool:
        version, minor = self._inventory.version, self._inventory.minor
        return bool(version) and not is_of_minor(version, minor)

    def ask_without_rules(self) -> None:
        """Find out whom rules, budgets and limits keep from a place."""
        engine = self._engine
        free = without_rules(self._snapshot)
        if free is None and engine.limits.words():
            free = self._snapshot
        if free is None or len(self._found.placed) == sum(not pod.node for pod in self._snapshot.pods):
            return
        plan = engine.without_limits(free)
        if plan is not None:
            budgets = [one for one in self._inventory.objects if one["kind"] == BUDGET]
            labels = {uid_of(pod): labels_of(pod) for pod in self._inventory.pods}
            bounds = Bounds(engine.limits.bounds(), budgets, labels)
            self._helped = helped(self._snapshot, plan, self._found, bounds)

    def findings(self, emptying: Proposal) -> Findings:
        """Return all of it."""
        snapshot, found, fewer = self._snapshot, self._found, emptying.plan
        names = {pod.uid: f"{pod.namespace}/{pod.name}" for pod in snapshot.pods}
        known = fewer.HasField("nodes_in_use")
        in_use, least = fewer.nodes_in_use, self._least_in_use(emptying)
        prices = HourlyPrice(in_use.price_before_micros, in_use.price_after_micros, least.price_lower_bound_micros)
        running = sum(bool(pod.node) for pod in snapshot.pods)
        candidates = self._engine.candidates
        return Findings(
            nodes=len(snapshot.nodes),
            running=running,
            pending=len(snapshot.pods) - running,
            fits_now=len(self._now.placed),
            untried=self._first.continued.untried if self._first.continued else 0,
            fits_after=len(found.placed),
            moves=self._moves(),
            evictions=tuple(sorted(names[one.pod_uid] for one in found.evictions)),
            proved=self._proof.holds and not self._proof.not_about,
            proof=self._proof,
            tiers=self._tiers,
            gain_by_moves=self._ranking.curve(self._placing.plan, self._now, found),
            left=Blocked(
                snapshot, self._proof, self._unjudged, candidates.nominated, self._now, found, self._helped
            ).workloads(),
            kept=Immovable(snapshot).by_rule(),
            room=rooms(snapshot),
            used_nodes=in_use.before if known else None,
            needed_nodes=in_use.after if known else None,
            fewest_nodes=least.lower_bound if known else None,
            emptied=emptied_by(snapshot, fewer),
            consolidating_moves=len(fewer.moves),
            not_judged=tuple(dict.fromkeys(self._not_judged(emptying))),
            elsewhere=candidates.elsewhere,
            hourly_price=prices if prices.used_micros else None,
            irremovable=irremovable_nodes(snapshot, {node.name for node in snapshot.nodes}),
        )

    def _moves(self) -> tuple[Move, ...]:
        names = {pod.uid: f"{pod.namespace}/{pod.name}" for pod in self._snapshot.pods}
        admitted = Counter(self._found.placed.values())
        highest = dict[str, int]()
        for uid, node in self._found.placed.items():
            priority = self._ranking.of_pod[uid]
            highest[node] = max(highest.get(node, priority), priority)
        moves = (
            Move(names[one.pod_uid], one.from_node, one.to_node, admitted[one.from_node], highest.get(one.from_node))
            for one in self._found.moves
        )
        return tuple(sorted(moves, key=lambda one: one.order))

    def _least_in_use(self, emptying: Proposal) -> pb.NodesInUse:
        """Return what is proved.

        Where not all plans were judged, only rules of the cluster are sure to keep nodes in use.
        """
        snapshot = self._snapshot
        refused = refused_classes(snapshot, emptying.refusals, self._engine.candidates.of_unread)
        if not emptying.pairs and not any(unjudged_running(snapshot, refused)):
            return emptying.plan.nodes_in_use
        kept = nodes_kept_in_use(snapshot)
        prices = (one.hourly_price_micros for one in snapshot.nodes if one.name in kept)
        return pb.NodesInUse(lower_bound=len(kept), price_lower_bound_micros=sum(prices))

    def _not_judged(self, emptying: Proposal) -> Iterator[NotJudged]:
        proposals = (self._placing, emptying)
        yield from not_judged_refusals(*proposals)
        nodes = self._snapshot.nodes
        if any(node.hourly_price_micros for node in nodes):
            for node in nodes:
                if not node.hourly_price_micros:
                    yield NotJudged("a node without a readable price", node.name)
        if self._is_of_another_minor():
            why = "what the cluster's own Kubernetes does otherwise"
            yield NotJudged(why, self._inventory.version, f"the plugins of {self._inventory.minor} judged")
        yield from map(NotJudged, self._inventory.unread)
        for one in self._left_out:
            yield NotJudged("left out", one.object, one.reason)
        for continued in filter(None, (self._first.continued, self._placing.continued)):
            for one in continued.awaiting:
                yield NotJudged("a volume that is still to be made", one.object, one.reason)
        for unknown in self._first.unknown_fields:
            why = "a field that this version of the scheduler does not know"
            yield NotJudged(why, unknown.field, f"passed over in {unknown.objects} objects")
        yield from not_judged_plans(*proposals)
        if not emptying.in_time:
            yield NotJudged("how many nodes could be emptied: there was no time left")


def not_judged_refusals(*proposals: Proposal) -> Iterator[NotJudged]:
    """Yield what the optimiser refused to judge."""
    for proposal in proposals:
        for refusal in proposal.refusals:
            yield NotJudged(refusal.reason, refusal.subject, refusal.detail)


def not_judged_plans(*proposals: Proposal) -> Iterator[NotJudged]:
    """Yield why plans were refused."""
    for proposal in proposals:
        for objection in proposal.objections:
            yield NotJudged("a plan that the scheduler's plugins refused", "", objection)
