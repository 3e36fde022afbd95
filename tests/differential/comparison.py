"""Plans checked twice: by the scheduler's replay and the optimiser's checker.

The scheduler stops at the first reason, or reports every plugin that refuses; the checker reports every broken rule. So
one rule must be equivalent to one of the scheduler's reasons, or the checker has missed something.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.contract import optimizer_pb2_grpc as pb_grpc
from stowage_optimizer.verify import Violation
from stowage_optimizer.verify.checker import Checker
from stowage_optimizer.verify.index import Index
from stowage_testbed.optimizer_service.service import running_service
from stowage_testbed.simulate.instance import PlanJudgement, Question
from stowage_testbed.simulate.process import SchedulerVerifier, Simulator, find_profile
from tests.differential.clusters import named, random_cluster
from tests.differential.plans import STRATEGIES, answer, spoil

CLAIM_RULES = frozenset({"tiers", "bounds", "gains", "nodes-in-use"})
"""Rules about the claims of a plan about itself. The scheduler does not check them."""

NAME_RULES = frozenset({"snapshot-id", "duplicate", "unknown-pod", "unknown-node"})
"""Rules behind which the checker looks no further."""

REASONS: Mapping[str, frozenset[str]] = {
    "wrong-snapshot": frozenset({"snapshot-id"}),
    "unknown-pod": frozenset({"unknown-pod"}),
    "unknown-node": frozenset({"unknown-node"}),
    "duplicate-pod": frozenset({"duplicate"}),
    "node-unschedulable": frozenset({"eligibility"}),
    "forbidden-pair": frozenset({"eligibility"}),
    "not-pending": frozenset({"origin"}),
    "not-running": frozenset({"origin"}),
    "wrong-node": frozenset({"origin"}),
    "same-node": frozenset({"origin"}),
    "immovable": frozenset({"immovable"}),
    "unsupported-pod": frozenset({"unverifiable"}),
    "over-capacity": frozenset({"capacity"}),
    "over-budget": frozenset({"disruption-budget"}),
    "not-better": frozenset({"not-better"}),
    "unjust-eviction": frozenset({"policy"}),
    "wrong-turn": frozenset({"devices"}),
    "unknown-device": frozenset({"devices"}),
    "broken-gang": frozenset({"gang"}),
}
"""Rules by the plan's own typed refusals."""

PLUGINS: Mapping[str, frozenset[str]] = {
    "": frozenset({"eligibility"}),
    "NodeUnschedulable": frozenset({"eligibility"}),
    "TaintToleration": frozenset({"eligibility"}),
    "NodeAffinity": frozenset({"eligibility"}),
    "VolumeBinding": frozenset({"eligibility"}),
    "NodePorts": frozenset({"host-ports"}),
    "NodeResourcesFit": frozenset({"capacity"}),
    "InterPodAffinity": frozenset({"pod-affinity", "pod-anti-affinity"}),
    "PodTopologySpread": frozenset({"topology-spread"}),
    "DynamicResources": frozenset({"devices"}),
}
"""Rules by the plugin that refuses in the rehearsal."""


ARRIVAL_RULES = frozenset().union(*PLUGINS.values()) - {"capacity"}
"""Rules that keep a pod off a node; the violation names the pod."""


def equivalent(refusal: PlanJudgement, violations: Collection[Violation]) -> bool:
    """Return whether one of ``violations`` is equivalent to ``refusal``.

    Of the plugins that keep a pod off a node the scheduler asks the others no more, so that the same pod is enough.
    """
    rules = {one.rule for one in violations}
    if rules & NAME_RULES:
        return True
    if refusal.reason != "rehearsal":
        return bool(REASONS.get(refusal.reason, frozenset()) & rules)
    kept_off = {one.subject for one in violations if one.rule in ARRIVAL_RULES}
    return bool(kept_off.intersection(refusal.pods)) or any(
        PLUGINS.get(one, frozenset()) & rules for one in refusal.plugins
    )


@dataclass(frozen=True, slots=True)
class Comparison:
    """A plan, and both judgements of it; the checker goes by the policy ``checked``."""

    question: Question
    checked: pb.Policy
    snapshot: pb.Snapshot
    scheduler: PlanJudgement
    violations: tuple[Violation, ...]

    @property
    def plan(self) -> pb.Plan:
        """The plan."""
        return self.question.plans[0]

    @property
    def rules(self) -> frozenset[str]:
        """The rules that the checker found broken."""
        return frozenset(one.rule for one in self.violations)

    @property
    def agreed(self) -> bool:
        """Whether both accept, or both refuse for equivalent reasons."""
        if self.scheduler.accepted or not self.rules:
            return self.scheduler.accepted and not self.rules
        return equivalent(self.scheduler, self.violations)


def compare(verifier: SchedulerVerifier, question: Question, checked: pb.Policy) -> list[Comparison]:
    """Return a comparison for each plan of ``question``."""
    verification = verifier.verify(question)
    snapshot = verification.snapshot
    checker = Checker(snapshot, checked)
    return [
        Comparison(
            replace(question, plans=(plan,)), checked, snapshot, judgement, tuple(checker.violations(plan) or ())
        )
        for plan, judgement in zip(question.plans, verification.of_plans, strict=True)
    ]


def explain(verifier: SchedulerVerifier, comparison: Comparison, *, changes: int = 2) -> tuple[str, ...]:
    """Return what only one side knows that explains why the two do not agree.

    An explanation is a change that takes that away. It explains a disagreement if both agree about the changed case:
    that is tried, not assumed. Up to ``changes`` may be needed together.
    """
    for change in EXPLANATIONS if changes else ():
        changed = change(comparison)
        if changed is None:
            continue
        (again,) = compare(verifier, *changed)
        if again.agreed:
            return (change.__name__,)
        further = explain(verifier, again, changes=changes - 1)
        if further:
            return (change.__name__, *further)
    return ()


Changed = tuple[Question, pb.Policy]


def without_own_kind(comparison: Comparison) -> Changed | None:
    """Let pods be evicted for others of their own priority too.

    The checker asks whether an evicted pod would not fit anywhere beside those that rank above it. The scheduler only
    asks whether a pod above it gains; evictions that no room needs it spares when it carries the plan out.
    """
    if not comparison.scheduler.accepted or "policy" not in comparison.rules:
        return None
    of_class = {one.id: one.priority for one in comparison.snapshot.pod_classes}
    ranks = {pod.uid: of_class[pod.class_id] for pod in comparison.snapshot.pods}
    most = max((ranks[one.pod_uid] for one in comparison.plan.placements), default=None)
    evicted = [ranks[one.pod_uid] for one in comparison.plan.evictions]
    if most is None or any(rank >= most for rank in evicted):
        return None
    return comparison.question, pb.POLICY_PAPER


def with_movers_gone(comparison: Comparison) -> Changed | None:
    """Let all moving pods leave before any pod comes.

    So the checker sees it. The scheduler evicts a pod only when there is room for it
    elsewhere: until then it may be required by a coming pod, or in its way.
    """
    if not comparison.plan.moves or not _about_arrival_order(comparison):
        return None
    moved = {one.pod_uid for one in comparison.plan.moves}
    pods = [deepcopy(dict(pod)) for pod in comparison.question.instance.pods]
    for pod in pods:
        if named(pod) in moved:
            del pod["spec"]["nodeName"]
            pod["status"] = {"phase": "Pending"}
    plan = pb.Plan()
    plan.CopyFrom(comparison.plan)
    del plan.moves[:], plan.placements[:]
    for move in comparison.plan.moves:
        plan.placements.add(pod_uid=move.pod_uid, node=move.to_node)
    plan.placements.extend(comparison.plan.placements)
    return _about(comparison, pods, plan)


def with_evicted_gone(comparison: Comparison) -> Changed | None:
    """Let the evicted be gone: the scheduler spares those that no room needs."""
    evicted = {one.pod_uid for one in comparison.plan.evictions}
    about_arrival_order = _about_arrival_order(comparison)
    if not (comparison.scheduler.accepted and evicted and about_arrival_order):
        return None
    pods = comparison.question.instance.pods
    plan = pb.Plan()
    plan.CopyFrom(comparison.plan)
    del plan.evictions[:]
    return _about(comparison, [pod for pod in pods if named(pod) not in evicted], plan)


EXPLANATIONS: tuple[Callable[[Comparison], Changed | None], ...] = (
    without_own_kind,
    with_movers_gone,
    with_evicted_gone,
)


def _about_arrival_order(comparison: Comparison) -> bool:
    refused_on_the_way = comparison.scheduler.reason in {"", "rehearsal", "stale"}
    return refused_on_the_way and comparison.rules <= {"pod-affinity", "topology-spread"}


def _about(comparison: Comparison, pods: Collection[Mapping[str, Any]], plan: pb.Plan) -> Changed:
    question = comparison.question
    instance = replace(question.instance, pods=tuple(pods))
    return replace(question, instance=instance, plans=(plan,)), comparison.checked


@dataclass(slots=True)
class Agreement:
    """How often both verifiers agreed, and why not where they did not.

    ``refused`` counts the plans that both refuse, by the scheduler's reason (or the
    plugin that refuses) and the first rule that the checker finds broken.
    """

    accepted: int = 0
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    explained: Counter[tuple[str, ...]] = field(default_factory=Counter)
    unexplained: list[Comparison] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Verifiers:
    """The processes that fill clusters, judge plans, and make plans.

    ``asked`` keeps the questions by name: the slow part is to make them.
    """

    simulator: Simulator
    scheduler: SchedulerVerifier
    optimizer: pb_grpc.OptimizerStub
    asked: dict[str, Question] = field(default_factory=dict)

    def compare_random_plans(self, seed: int, plans: int) -> Agreement:
        """Compare both judgements of random plans, drawn by ``seed``."""
        found = Agreement()
        clusters, left = 0, plans
        while left > 0:
            name = f"{seed}-{clusters}"
            if name not in self.asked:
                self.asked[name] = self.random_question(name)
            question = self.asked[name]
            question = replace(question, plans=question.plans[:left])
            clusters, left = clusters + 1, left - len(question.plans)
            for one in compare(self.scheduler, question, question.policy):
                if not one.agreed:
                    why = explain(self.scheduler, one)
                    if why:
                        found.explained[why] += 1
                    else:
                        found.unexplained.append(one)
                elif one.scheduler.accepted:
                    found.accepted += 1
                else:
                    reason = next(iter(one.scheduler.plugins), "")
                    reason = reason or one.scheduler.reason
                    found.refused[reason, one.violations[0].rule] += 1
        return found

    def random_question(self, name: str) -> Question:
        """Return a cluster with a plan of each strategy, and some that are spoiled."""
        rng = Random(name)  # noqa: S311 - not a secret
        asked = random_cluster(name, rng, self.simulator)
        snapshot = self.scheduler.verify(asked).snapshot
        index = Index(snapshot)
        good = [answer(rng, self.optimizer, strategy, asked, snapshot) for strategy in STRATEGIES]
        spoiled = [spoil(rng, rng.choice(good), snapshot, index) for _ in range(SPOILED)]
        return replace(asked, plans=(*good, *spoiled))


SPOILED = 17


@contextmanager
def running_verifiers() -> Iterator[Verifiers]:
    """Start the processes and stop them afterwards."""
    config = find_profile("deterministic")
    with Simulator(config) as simulator, SchedulerVerifier(config) as verifier, running_service() as service:
        yield Verifiers(simulator, verifier, service.stub)
