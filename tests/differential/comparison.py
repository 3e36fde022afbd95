"""One plan checked twice: by the scheduler's replay and the optimiser's checker.

The scheduler stops at the first reason, or reports every plugin that refuses; the
checker reports every broken rule. So one rule must be equivalent to one of the
scheduler's reasons, or the checker has missed something.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify import Violation
from stowage_optimizer.verify.checker import Checker
from stowage_testbed.simulate import PlanJudgement, Question, SchedulerVerifier

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
    "not-better": frozenset({"worth"}),
    "unjust-eviction": frozenset({"policy"}),
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
}
"""Rules by the plugin that refuses in the rehearsal."""


ARRIVAL_RULES = frozenset().union(*PLUGINS.values()) - {"capacity"}
"""Rules that keep a pod off a node; the violation names the pod."""


def equivalent(refusal: PlanJudgement, violations: Collection[Violation]) -> bool:
    """Return whether one of ``violations`` is equivalent to ``refusal``.

    Of the plugins that keep a pod off a node the scheduler asks the others no more, so
    that the same pod is enough.
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
    """A plan, and both judgements of it.

    Attributes
    ----------
    question
        The cluster, with this plan alone.
    checked
        The policy that the checker went by.
    snapshot
        The scheduler's snapshot of the cluster.
    scheduler
        The scheduler's judgement.
    violations
        All that the checker found.
    """

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
    def substance(self) -> frozenset[str]:
        """Those of them that are about what the plan does."""
        return self.rules - CLAIM_RULES

    @property
    def only_claims(self) -> bool:
        """Whether only the plan's claims about itself are wrong."""
        return bool(self.rules) and not self.substance

    @property
    def agreed(self) -> bool:
        """Whether both accept, or both refuse for equivalent reasons."""
        if self.scheduler.accepted or not self.substance:
            return self.scheduler.accepted and not self.rules
        return equivalent(self.scheduler, self.violations)


def compare(
    verifier: SchedulerVerifier, question: Question, *, checked: pb.Policy | None = None
) -> list[Comparison]:
    """Return a comparison for each plan of ``question``.

    Parameters
    ----------
    verifier
        The scheduler's side.
    question
        The cluster and the plans.
    checked
        The policy that the checker goes by; the question's own unless given.
    """
    policy = question.policy if checked is None else checked
    verification = verifier.verify(question)
    checker = Checker(verification.snapshot, policy)
    return [
        Comparison(
            replace(question, plans=(plan,)),
            policy,
            verification.snapshot,
            judgement,
            tuple(checker.violations(plan) or ()),
        )
        for plan, judgement in zip(question.plans, verification.of_plans, strict=True)
    ]
