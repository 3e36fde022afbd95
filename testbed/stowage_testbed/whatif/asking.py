"""Asks scheduler and optimiser about a cluster that neither of them touches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.optimizer_service.service import running_service
from stowage_testbed.simulate import Instance, Question, Remark, SchedulerVerifier, Verification
from stowage_testbed.toolchain.minors import is_of_minor
from stowage_testbed.whatif.allowance import LIFTED_SHARE, PLACING_SHARE, Allowance
from stowage_testbed.whatif.capacity import rooms
from stowage_testbed.whatif.findings import Findings, HourlyPrice, Move, NotJudged, telling
from stowage_testbed.whatif.in_use import emptied_by, irremovable_nodes, leaving_in_turn, nodes_kept_in_use
from stowage_testbed.whatif.inventory import FURTHER, Inventory, part_of
from stowage_testbed.whatif.judged import JudgedPods, judged_pods, uid_of
from stowage_testbed.whatif.kept import KeptPods, Workloads
from stowage_testbed.whatif.lifted import Bounds, Helped, helped, lifted
from stowage_testbed.whatif.outcome import Outcome, Ranking, curve, outcome_of
from stowage_testbed.whatif.proof import Aside, proof_of, refused_classes, unjudged_running
from stowage_testbed.whatif.proposing import Proposal, Proposer, policy_of
from stowage_testbed.whatif.reading import NO_BUDGETS
from stowage_testbed.whatif.release import LIMITS, Release

ID, BUDGET = "whatif", "PodDisruptionBudget"

GROUP_FIELD, GROUP_GATE = "schedulingGroup", "GenericWorkload"
"""By which a pod names its group, and the gate that it takes."""

BASE_BYTES, BYTES_PER_OBJECT = 200 << 20, 24 << 10
"""Of a scheduler's process, whose garbage would otherwise be four times what it holds.
"""


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """What plans may do, and how long the answer may take once all is read.

    ``max_moves`` counts if the release allows as many; ``None`` is any number. The
    release is that whose rules, limits and scheduler are asked about.
    """

    time_limit_s: float = 10.0
    max_moves: int | None = None
    release: Release = field(default_factory=Release)

    def bounds(self) -> dict[str, int]:
        """Return the limits on a plan, by the names that the release has for them."""
        limits = {name: limit for name in LIMITS if (limit := self.release.limit(name)) is not None}
        if self.max_moves is not None:
            limits["maxMoves"] = min(self.max_moves, limits.get("maxMoves", 2**31))
        return limits

    def words(self) -> tuple[str, ...]:
        """Return the limits on a plan, in words."""
        return tuple(
            f"with at most {limit:,} {LIMITS[name]}{'' if limit == 1 else 's'}" for name, limit in self.bounds().items()
        )


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
    objects = len(inventory.nodes) + len(inventory.pods)
    allowance = Allowance(limits.time_limit_s, objects)
    release = limits.release.at_most(limits.max_moves)
    judged = judged_pods(inventory, release.schedulers)
    question = Question(
        Instance(ID, inventory.nodes, judged.pods, inventory.objects, observed=True),
        policy=policy_of(release),
        arguments=release.arguments,
    )
    with ExitStack() as stack, ThreadPoolExecutor(2) as pool:
        starting = pool.submit(stack.enter_context, running_service())
        minor = inventory.minor
        with new_verifier(profile, release, question.instance, minor) as verifier:
            first = verifier.verify(question)
            # Each plan is judged by a process that reads the cluster anew.
            reading_s = limits.time_limit_s - allowance.left_s()
            # The scheduler has a core of its own while the optimiser searches, not
            # while the next one reads, which looks at the plan.
            continuing_s = allowance.continuing_s(2 * reading_s)
            as_it_is = pool.submit(verifier.judge, replace(question, continue_s=continuing_s))
            proposer = Proposer(
                lambda: new_verifier(profile, release, question.instance, minor),
                starting.result(),
                release,
                limits.bounds(),
                never_preempt=judged.never_preempt,
                continuing_s=lambda: allowance.continuing_s(reading_s),
            )
            placing = proposer.proposal(
                question, first.snapshot, pb.OBJECTIVE_PLACE, allowance.part(PLACING_SHARE, reading_s)
            )
            first = replace(first, continued=as_it_is.result().continued)
        answer = _Answer(inventory, limits, judged, first, placing)
        answer.ask_without_rules(proposer, allowance, reading_s)
        question = replace(question, consolidates=True)
        emptying = proposer.proposal(
            question, leaving_in_turn(first.snapshot), pb.OBJECTIVE_CONSOLIDATE, allowance.part(1.0, reading_s)
        )
    return answer.findings(emptying)


def new_verifier(profile: Path, release: Release, instance: Instance, minor: str) -> SchedulerVerifier:
    """Return one for a single use, and not to be kept.

    It starts at once, and holds the whole cluster in memory, which the solver and the
    next process of the scheduler want too. Its garbage is collected in earnest from a
    soft limit on: whoever needs more gets it, and is slower.
    """
    objects = len(instance.pods) + len(instance.nodes) + len(instance.objects)
    return SchedulerVerifier(
        profile,
        feature_gates=_gates_of(release, instance),
        environment={"GOMEMLIMIT": str(BASE_BYTES + BYTES_PER_OBJECT * objects)},
        way_out="what-if has no option for that: ask about a part of the cluster, as "
        "with the nodes of one pool and their pods in a file for --file",
        minor=minor,
    )


def _gates_of(release: Release, instance: Instance) -> str:
    """Return the release's feature gates, and the one that the cluster itself shows.

    An API server whose gate is off drops the field.
    """
    in_group = any(part_of(pod, "spec").get(GROUP_FIELD) for pod in instance.pods)
    if not in_group or GROUP_GATE in release.feature_gates:
        return release.feature_gates
    return ",".join(filter(None, (release.feature_gates, f"{GROUP_GATE}=true")))


class _Answer:
    """What is known about a cluster, put together."""

    def __init__(
        self, inventory: Inventory, limits: PlanLimits, judged: JudgedPods, first: Verification, placing: Proposal
    ) -> None:
        self._inventory = inventory
        self._limits = limits
        self._judged = judged
        self._first = first
        self._placing = placing
        self._snapshot = snapshot = first.snapshot
        self._ranking = ranking = Ranking(snapshot)
        self._now = now = outcome_of(snapshot, pb.Plan(), first.continued)
        changed = placing.continued is not None
        planned = outcome_of(snapshot, placing.plan, placing.continued if changed else first.continued)
        # What the scheduler places as things are is a plan too.
        self._found = now if ranking.better(now, planned) else planned
        self._helped: Helped | None = None
        unjudged = refused_classes(snapshot, placing.refusals, judged.of_unread)
        self._unjudged = unjudged
        tiers = ranking.tiers(self._found, placing.plan)
        self._proof = proof_of(snapshot, placing.plan, self._found, tiers, self._aside())
        if self._proof.others:
            # A limit that is proved of a part of the problem is none of the cluster.
            tiers = ranking.tiers(self._found, pb.Plan())
        self._tiers = tiers

    def _aside(self) -> Aside:
        unread = self._inventory.unread
        return Aside(
            about=self._about(),
            classes=self._unjudged,
            of_unread=self._judged.of_unread,
            limits=self._limits.words(),
            pairs=self._placing.pairs,
            dropped=self._placing.dropped,
            alike=self._placing.alike,
            budgets_unread=FURTHER[BUDGET] in unread,
            left_out=len(self._left_out()),
            unknown=len(self._first.unknown_fields),
        )

    def _about(self) -> str:
        names = " or ".join(self._limits.release.schedulers)
        budgets = "; the files list no disruption budgets"
        other = f", with the plugins of Kubernetes {self._inventory.minor}"
        return (
            f"pods that wait for {names}, and plans within the rules for running pods"
            f"{other if self._is_of_another_minor() else ''}"
            f"{budgets if NO_BUDGETS in self._inventory.unread else ''}"
        )

    def _is_of_another_minor(self) -> bool:
        version, minor = self._inventory.version, self._inventory.minor
        return bool(version) and not is_of_minor(version, minor)

    def ask_without_rules(self, proposer: Proposer, allowance: Allowance, reading_s: float) -> None:
        """Find out whom rules, budgets and limits keep from a place."""
        waiting = sum(not pod.node for pod in self._snapshot.pods)
        free = lifted(self._snapshot)
        if free is None and self._limits.words():
            free = self._snapshot
        if free is None or len(self._found.placed) == waiting:
            return
        part = allowance.part(LIFTED_SHARE, reading_s)
        plan = proposer.without_limits(free, part)
        if plan is None:
            return
        self._helped = helped(
            self._snapshot,
            plan,
            self._found,
            Bounds(
                self._limits.bounds(),
                [one for one in self._inventory.objects if one["kind"] == BUDGET],
                {uid_of(pod): part_of(pod["metadata"], "labels") for pod in self._inventory.pods},
            ),
        )

    def findings(self, emptying: Proposal) -> Findings:
        """Return all of it."""
        snapshot, found, fewer = self._snapshot, self._found, emptying.plan
        names = {pod.uid: f"{pod.namespace}/{pod.name}" for pod in snapshot.pods}
        known = fewer.HasField("nodes_in_use")
        in_use, least = fewer.nodes_in_use, self._least_in_use(emptying)
        running = sum(bool(pod.node) for pod in snapshot.pods)
        workloads = Workloads(snapshot, self._proof, self._unjudged, self._judged.nominated)
        return Findings(
            nodes=len(snapshot.nodes),
            running=running,
            pending=len(snapshot.pods) - running,
            fits_now=len(self._now.placed),
            untried=self._first.continued.untried if self._first.continued else 0,
            fits_after=len(found.placed),
            moves=_moves(snapshot, found, names),
            evictions=tuple(sorted(names[one.pod_uid] for one in found.evictions)),
            proved=self._proof.holds and not self._proof.not_about,
            proof=self._proof,
            tiers=self._tiers,
            gain_by_moves=curve(self._placing.plan, self._now, found, self._ranking),
            left=workloads.left(self._now, found, self._helped),
            kept=tuple(KeptPods(snapshot).by_rule()),
            room=rooms(snapshot),
            used_nodes=in_use.before if known else None,
            needed_nodes=in_use.after if known else None,
            fewest_nodes=least.lower_bound if known else None,
            emptied=emptied_by(snapshot, fewer),
            consolidating_moves=len(fewer.moves),
            not_judged=tuple(dict.fromkeys(self._not_judged(emptying))),
            elsewhere=self._judged.elsewhere,
            hourly_price=HourlyPrice(
                in_use.price_before_micros, in_use.price_after_micros, least.price_lower_bound_micros
            )
            if in_use.price_before_micros
            else None,
            irremovable=irremovable_nodes(snapshot, {node.name for node in snapshot.nodes}),
        )

    def _least_in_use(self, emptying: Proposal) -> pb.NodesInUse:
        """Return what is proved of the cluster, also where not all plans were judged.

        Then only rules of the cluster are sure to keep nodes in use.
        """
        snapshot = self._snapshot
        refused = refused_classes(snapshot, emptying.refusals, self._judged.of_unread)
        if not emptying.pairs and not any(unjudged_running(snapshot, refused)):
            return emptying.plan.nodes_in_use
        kept = nodes_kept_in_use(snapshot)
        prices = (one.hourly_price_micros for one in snapshot.nodes if one.name in kept)
        return pb.NodesInUse(lower_bound=len(kept), price_lower_bound_micros=sum(prices))

    def _left_out(self) -> dict[Remark, None]:
        """Return the objects that make no sense, each once."""
        return dict.fromkeys((*self._inventory.left_out, *self._first.left_out))

    def _awaiting(self) -> dict[Remark, None]:
        """Return the pods that have a place if somebody makes their volumes."""
        asked = filter(None, (self._first.continued, self._placing.continued))
        return dict.fromkeys(remark for one in asked for remark in one.awaiting)

    def _not_judged(self, emptying: Proposal) -> Iterator[NotJudged]:
        for refusal in (*self._placing.refusals, *emptying.refusals):
            yield NotJudged(refusal.reason, refusal.subject, refusal.detail)
        yield from _without_price(self._snapshot)
        if self._is_of_another_minor():
            minor, version = self._inventory.minor, self._inventory.version
            yield NotJudged(
                "what the cluster's own Kubernetes does otherwise", version, f"the plugins of {minor} judged"
            )
        for kind in self._inventory.unread:
            yield NotJudged(kind)
        for one in self._left_out():
            yield NotJudged("left out", one.object, one.reason)
        for one in self._awaiting():
            yield NotJudged("a volume that is still to be made", one.object, one.reason)
        for unknown in self._first.unknown_fields:
            yield NotJudged(
                "a field that this version of the scheduler does not know",
                unknown.field,
                f"passed over in {unknown.objects} objects",
            )
        for proposal in (self._placing, emptying):
            for objection in proposal.objections:
                yield NotJudged("a plan that the scheduler's plugins refused", "", objection)
        if not emptying.in_time:
            yield NotJudged("how many nodes could be emptied: there was no time left")


def _moves(snapshot: pb.Snapshot, found: Outcome, names: Mapping[str, str]) -> tuple[Move, ...]:
    priorities = {one.id: one.priority for one in snapshot.pod_classes}
    of_pod = {pod.uid: priorities[pod.class_id] for pod in snapshot.pods}
    admitted = Counter(found.placed.values())
    highest = dict[str, int]()
    for uid, node in found.placed.items():
        priority = of_pod[uid]
        highest[node] = max(highest.get(node, priority), priority)
    moves = (
        Move(names[one.pod_uid], one.from_node, one.to_node, admitted[one.from_node], highest.get(one.from_node))
        for one in found.moves
    )
    return tuple(sorted(moves, key=telling))


def _without_price(snapshot: pb.Snapshot) -> Iterator[NotJudged]:
    """Yield the nodes that have no price where others have one."""
    if any(node.hourly_price_micros for node in snapshot.nodes):
        unknown = "a node without a readable price"
        for node in snapshot.nodes:
            if not node.hourly_price_micros:
                yield NotJudged(unknown, node.name)
