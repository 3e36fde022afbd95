"""Would the pods that wait fit if others moved? The answer, put together."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import msgspec

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.api.label_selector import selects
from stowage_testbed.text.tables import count
from stowage_testbed.toolchain.manifest import is_of_minor
from stowage_testbed.whatif.devices import device_rooms
from stowage_testbed.whatif.emptying import Scope
from stowage_testbed.whatif.engine import PLACING_SHARE, Engine, Proposal, running_engine
from stowage_testbed.whatif.findings import Findings, HourlyPrice, Move, NotJudged, Proof, StillPending, Tier, Verdict
from stowage_testbed.whatif.gangs import waiting_gangs
from stowage_testbed.whatif.inventory import (
    FURTHER,
    SELECTS_NAMESPACES,
    Inventory,
    labels_of,
    part_of,
    uid_of,
    waiting_elsewhere,
)
from stowage_testbed.whatif.outcome import (
    TERMINATING,
    Immovable,
    Outcome,
    Ranking,
    counts_pods,
    leaving_in_turn,
    nodes_in_use,
    outcome_of,
    refused_classes,
    rooms,
)
from stowage_testbed.whatif.reading import NO_BUDGETS
from stowage_testbed.whatif.settings import PlanLimits, limit_in_words

BUDGET = "PodDisruptionBudget"

CHANGEABLE = frozenset(
    {
        "cooling-down",
        "disruption-budget",
        "job",
        "local-storage",
        "long-grace-period",
        "not-ready",
        "opted-out",
        "protected-namespace",
        "singleton",
        "statefulset",
        "too-young",
    }
)
"""Rules that a value, a label or a budget may change; the others are facts."""

DEAR = 2**30  # Cost of a pod that a rule keeps: among equal plans the others are disrupted


def findings_of(inventory: Inventory, limits: PlanLimits) -> Findings:
    """Return how many pending pods would fit, after which moves, and what is idle.

    Raises a StowageError if the scheduler cannot read the objects, or the optimiser fails.
    """
    with running_engine(inventory, limits) as engine:
        with ThreadPoolExecutor(1) as pool, engine.verifier() as verifier:
            snapshot = engine.read(verifier, engine.question)
            # The scheduler has a core of its own while the optimiser searches, not
            # while the next one reads, which judges the plan.
            continuing_s = engine.allowance.continuing_s(2 * engine.reading_s)
            as_it_is = pool.submit(verifier.judge, replace(engine.question, continue_s=continuing_s))
            placing = engine.proposal(engine.question, snapshot, pb.OBJECTIVE_PLACE, PLACING_SHARE)
            engine.first = msgspec.structs.replace(engine.first, continued=as_it_is.result().continued)
        answer = _Answer(engine, placing)
        answer.ask_without_rules()
        question = replace(engine.question, consolidates=True)
        emptying = engine.proposal(question, leaving_in_turn(snapshot), pb.OBJECTIVE_CONSOLIDATE, 1.0)
    return answer.findings(emptying)


class _Answer:
    """What is known about a cluster, put together."""

    def __init__(self, engine: Engine, placing: Proposal) -> None:
        self._engine = engine
        self._inventory = inventory = engine.inventory
        self._placing = placing
        self._snapshot = snapshot = engine.first.snapshot
        self._scope = Scope(snapshot, frozenset(node.name for node in snapshot.nodes), nodes_in_use(snapshot))
        self._ranking = ranking = Ranking(snapshot)
        self._now = now = outcome_of(snapshot, pb.Plan(), engine.first.continued)
        planned = outcome_of(snapshot, placing.plan, placing.continued or engine.first.continued)
        # What the scheduler places as things are is a plan too.
        self._found = now if ranking.better(now, planned) else planned
        self._helped = Helped()
        self._left_out = tuple(dict.fromkeys((*inventory.left_out, *engine.first.left_out)))
        self._unjudged = refused_classes(snapshot, placing.refusals, engine.of_unread)
        self._of_another_minor = bool(inventory.version) and not is_of_minor(inventory.version, inventory.minor)
        tiers = ranking.tiers(self._found, placing.plan)
        self._proof = self._prove(tiers)
        # A limit that is proved of a part of the problem is none of the cluster.
        self._tiers = ranking.tiers(self._found, pb.Plan()) if self._proof.others else tiers

    def _prove(self, tiers: Iterable[Tier]) -> Proof:
        """Return what is proved: by the optimiser, or since nobody moves and each tier is at its limit."""
        found, plan, unread = self._found, self._placing.plan, self._inventory.unread
        names = " or ".join(self._engine.limits.release.schedulers)
        about = f"pods that wait for {names}, and plans within the rules for running pods"
        if not self._ranking.counts_pods:
            about += "; devices are counted, not pods"
        if self._of_another_minor:
            about += f", with the plugins of Kubernetes {self._inventory.minor}"
        if NO_BUDGETS in unread:
            about += "; the files list no disruption budgets"
        waiting = sum(not pod.node for pod in self._snapshot.pods)
        if not waiting or (len(found.placed) == waiting and not found.disruptions):
            return Proof(True, about)
        classes = {pod.uid: pod.class_id for pod in self._snapshot.pods}
        planned = {one.pod_uid for one in plan.placements}
        # The plan must be all that happens to pods that it judged.
        by_plan = (
            found.plan.moves == plan.moves
            and found.plan.evictions == plan.evictions
            and all(uid in found.placed for uid in planned)
            and all(classes[uid] in self._unjudged for uid in found.added - planned)
        )
        at_limit = not found.disruptions and all(one.after == one.at_most for one in tiers)
        limits = self._engine.limits.words()
        return Proof((by_plan and plan.optimal) or at_limit, about, (*limits, *self._left_aside()), limits)

    def _left_aside(self) -> Iterator[str]:
        """Yield what plans were looked for without, and what a proof is thus not about."""
        found, placing, first = self._found, self._placing, self._engine.first
        left = [pod for pod in self._snapshot.pods if not pod.node and pod.uid not in found.placed]
        running = [pod for pod in self._snapshot.pods if pod.node]
        unjudged = sum(pod.class_id in self._unjudged for pod in left)
        if unjudged:
            yield f"{count(unjudged, 'pod')} that {'waits and was' if unjudged == 1 else 'wait and were'} not judged"
        yield from self._scope.unjudged(self._unjudged)
        of_unread = self._engine.of_unread
        if selecting := sum(of_unread.get(pod.uid) == SELECTS_NAMESPACES for pod in running):
            pods = count(selecting, "running pod")
            yield f"{pods} whose affinity selects namespaces, the labels of which were not read"
        leaving = sum(pod.immovable_reason == TERMINATING for pod in running)
        if leaving and left:
            yield f"{count(leaving, 'pod')} that {'is' if leaving == 1 else 'are'} leaving, whose room comes free"
        if placing.dropped:
            pods = count(placing.dropped, "waiting pod")
            yield f"{pods} with preemptionPolicy Never, for which plans would have evicted others"
        if placing.alike and found.disruptions:
            yield "which priorities the moved pods have"
        if FURTHER[BUDGET] in self._inventory.unread and found.disruptions:
            yield "disruption budgets, which could not be read"
        for number, what, why in (
            (len(placing.forbidden), "placement", "that a plugin refused in one plan"),
            (len(self._left_out), "object", "that could not be taken in"),
            (len(first.unknown_fields), "field", "that the scheduler does not know"),
        ):
            if number:
                yield f"{count(number, what)} {why}"

    def ask_without_rules(self) -> None:
        """Find out whom rules, budgets and limits keep from a place."""
        snapshot, limits = self._snapshot, self._engine.limits.bounds()
        ruled = snapshot.disruption_budgets or any(pod.immovable_reason in CHANGEABLE for pod in snapshot.pods)
        if not (ruled or limits) or len(self._found.placed) == sum(not pod.node for pod in snapshot.pods):
            return
        free = pb.Snapshot()
        free.CopyFrom(snapshot)
        del free.disruption_budgets[:]
        for pod in free.pods:
            if pod.immovable_reason in CHANGEABLE:
                pod.movable, pod.immovable_reason, pod.deletion_cost = True, "", DEAR
        plan = self._engine.without_limits(free)
        if plan is not None:
            self._helped = helped(snapshot, plan, self._found, self._inventory, limits)

    def findings(self, emptying: Proposal) -> Findings:
        """Return all of it."""
        snapshot, found, first, fewer = self._snapshot, self._found, self._engine.first, emptying.plan
        names = {pod.uid: f"{pod.namespace}/{pod.name}" for pod in snapshot.pods}
        known = fewer.HasField("nodes_in_use")
        in_use, least = fewer.nodes_in_use, self._scope.least(emptying, self._engine.of_unread)
        prices = HourlyPrice(in_use.price_before_micros, in_use.price_after_micros, least.hourly_micros)
        running = sum(bool(pod.node) for pod in snapshot.pods)
        nodes = ((uid_of(pod), part_of(pod, "status").get("nominatedNodeName")) for pod in self._inventory.pods)
        return Findings(
            nodes=len(snapshot.nodes),
            running=running,
            pending=len(snapshot.pods) - running,
            fits_now=len(self._now.placed),
            untried=first.continued.untried if first.continued else 0,
            fits_after=len(found.placed),
            moves=self._moves(),
            evictions=tuple(sorted(names[one.pod_uid] for one in found.plan.evictions)),
            proved=self._proof.holds and not self._proof.not_about,
            proof=self._proof,
            tiers=self._tiers,
            gain_by_moves=self._ranking.curve(self._placing.plan, self._now, found),
            left=still_pending(
                snapshot,
                self._proof,
                self._now,
                found,
                unjudged=self._unjudged,
                nominated={uid: str(node) for uid, node in nodes if node},
                helped=self._helped,
            ),
            kept=Immovable(snapshot).by_rule(),
            room=(*rooms(snapshot), *device_rooms(self._inventory, snapshot)),
            used_nodes=in_use.before if known else None,
            needed_nodes=in_use.after if known else None,
            fewest_nodes=least.nodes if known else None,
            emptied=self._scope.emptied(fewer),
            consolidating_moves=len(fewer.moves),
            not_judged=tuple(dict.fromkeys(self._not_judged(emptying))),
            elsewhere=waiting_elsewhere(self._inventory, self._engine.release.schedulers),
            hourly_price=prices if prices.used_micros else None,
            irremovable=self._scope.irremovable(),
            gangs=waiting_gangs(snapshot, self._now, found, self._unjudged),
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
            for one in self._found.plan.moves
        )

        # Those for the highest priority, then for the most pods, come first; those that admit none come last.
        def order(one: Move) -> tuple[int, int, str]:
            return (2**31, 0, one.pod) if one.priority is None else (-one.priority, -one.admits, one.pod)

        return tuple(sorted(moves, key=order))

    def _not_judged(self, emptying: Proposal) -> Iterator[NotJudged]:
        first, proposals = self._engine.first, (self._placing, emptying)
        for proposal in proposals:
            yield from proposal.refused()
        nodes = self._snapshot.nodes
        if any(node.hourly_price_micros for node in nodes):
            for node in nodes:
                if not node.hourly_price_micros:
                    yield NotJudged("a node without a readable price", node.name)
        if self._of_another_minor:
            why = "what the cluster's own Kubernetes does otherwise"
            yield NotJudged(why, self._inventory.version, f"the plugins of {self._inventory.minor} judged")
        yield from map(NotJudged, self._inventory.unread)
        for one in self._left_out:
            yield NotJudged("left out", one.object, one.reason)
        for continued in filter(None, (first.continued, self._placing.continued)):
            for one in continued.awaiting:
                yield NotJudged("a volume that is still to be made", one.object, one.reason)
        for unknown in first.unknown_fields:
            why = "a field that this version of the scheduler does not know"
            yield NotJudged(why, unknown.field, f"passed over in {unknown.objects} objects")
        for proposal in proposals:
            yield from proposal.objected()
        if not emptying.in_time:
            yield NotJudged("how many nodes could be emptied: there was no time left")


@dataclass(frozen=True, slots=True)
class Helped:
    """Whom it would help, class by class, if but facts kept pods in place, and what would have to change.

    ``everyone`` is whether it is proved that it would help nobody else.
    """

    classes: Mapping[str, int] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    everyone: bool = False


def helped(
    snapshot: pb.Snapshot, plan: pb.Plan, found: Outcome, inventory: Inventory, limits: Mapping[str, int]
) -> Helped:
    """Return whom a plan without changeable rules and budgets places beside those with a place; limits are by name."""
    classes = {pod.uid: pod.class_id for pod in snapshot.pods}
    more = Counter(classes[one.pod_uid] for one in plan.placements)
    more.subtract(classes[uid] for uid in found.placed)
    gained = {one: number for one, number in more.items() if number > 0}
    proved = plan.optimal and counts_pods(snapshot)
    if not gained:
        return Helped(everyone=proved)
    gone = {one.pod_uid for one in plan.moves} | {one.pod_uid for one in plan.evictions}
    disrupted = [pod for pod in snapshot.pods if pod.uid in gone]
    rules = sorted({pod.immovable_reason for pod in disrupted} & CHANGEABLE)
    changes = [f"the rule {one}" for one in rules]
    labels = {uid_of(pod): labels_of(pod) for pod in inventory.pods}
    for budget in (one for one in inventory.objects if one["kind"] == BUDGET):
        selector = part_of(budget, "spec").get("selector")
        allowed = part_of(budget, "status").get("disruptionsAllowed") or 0
        covered = sum(
            selector is not None
            and pod.namespace == budget["metadata"].get("namespace", "default")
            and selects(selector, labels.get(pod.uid, {}))
            and not pod.exempt_from_budget
            for pod in disrupted
        )
        if covered > allowed:
            changes.append(f"the budget {budget['metadata']['name']}, which allows {allowed}")
    for name, number in (("maxMoves", len(plan.moves)), ("maxEvictions", len(plan.evictions))):
        if number > limits.get(name, number):
            changes.append(f"the limit of {limit_in_words(name, limits[name])}")
    return Helped(gained, tuple(rules), tuple(changes), proved)


def still_pending(
    snapshot: pb.Snapshot,
    proof: Proof,
    now: Outcome,
    found: Outcome,
    *,
    unjudged: Mapping[str, str] = {},
    nominated: Mapping[str, str] = {},
    helped: Helped = Helped(),
) -> tuple[StillPending, ...]:
    """Return the pods that have no place in the end, by workload in alphabetical order, and why.

    ``unjudged`` says why some classes are not judged; ``nominated`` are nodes by UID.
    """
    immovable = Immovable(snapshot)
    classes = {one.id: one for one in snapshot.pod_classes}
    left = defaultdict[str, list[str]](list)
    for pod in snapshot.pods:
        if not pod.node and pod.uid not in found.placed:
            left[pod.class_id].append(pod.uid)
    placed = (classes[pod.class_id].priority for pod in snapshot.pods if pod.uid in found.placed)
    highest = max(placed, default=None)
    left_aside = next(iter(proof.others), "")

    def verdict_on(one: pb.PodClass, promised: str, *, large_enough: bool) -> tuple[Verdict, str]:
        # Had no pod of that priority or above a place, a plan that places one would be better.
        beside = highest is not None and highest >= one.priority
        verdicts: tuple[tuple[object, Verdict, str], ...] = (
            (one.id in unjudged, "not judged", f"not judged: {unjudged.get(one.id)}"),
            (not large_enough, "too large", "no node is large enough, even when empty"),
            (promised, "open", f"promised the node {promised}, where room is to come free"),
            (
                not proof.holds,
                "not found",
                f"no plan{''.join(f' {limit}' for limit in proof.limits)} was found in time",
            ),
            (left_aside, "open", f"the best plan places none; this leaves aside {left_aside}"),
            (proof.limits, "limited", f"no plan {' '.join(proof.limits)} places more: proved"),
            (beside, "beside", "no plan places more pods: proved; another may place these"),
            (True, "proved", "no plan places it: proved"),
        )
        return next((verdict, reason) for holds, verdict, reason in verdicts if holds)

    pending = []
    for class_id, uids in left.items():
        one = classes[class_id]
        large_enough, rules = immovable.room_for(one.requests)
        changes: tuple[str, ...] = ()
        if class_id in helped.classes:
            rules, changes = helped.rules, helped.changes
        elif helped.everyone:
            # Room that a rule keeps is not enough: something else is in the way.
            rules = ()
        promised = next((nominated[uid] for uid in uids if uid in nominated), "")
        verdict, reason = verdict_on(one, promised, large_enough=large_enough)
        changes += tuple(f"the rule {rule}" for rule in rules if rule in CHANGEABLE)
        if verdict == "not found":
            changes += ("the time limit",)
        pending.append(
            StillPending(
                f"{one.namespace}/{one.owner.name or one.id}",
                len(uids),
                verdict,
                reason,
                rules,
                next((now.reasons[uid] for uid in uids if uid in now.reasons), ""),
                next((found.reasons[uid] for uid in uids if uid in found.reasons), ""),
                tuple(dict.fromkeys(changes)),
            )
        )
    return tuple(sorted(pending, key=lambda one: one.workload))
