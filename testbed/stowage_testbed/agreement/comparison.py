"""One plan checked twice: by the scheduler's replay and the optimiser's checker."""

from __future__ import annotations

from dataclasses import dataclass, replace

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify import Violation
from stowage_optimizer.verify.checker import Checker
from stowage_testbed.agreement.equivalent_reasons import CLAIM_RULES, equivalent
from stowage_testbed.simulate import Question, SchedulerVerifier, Verdict


@dataclass(frozen=True, slots=True)
class Comparison:
    """A plan, and both verdicts on it.

    Attributes
    ----------
    question
        The cluster, with this plan alone.
    checked
        The policy that the checker went by.
    snapshot
        The scheduler's snapshot of the cluster.
    scheduler
        The scheduler's verdict.
    violations
        All that the checker found.
    """

    question: Question
    checked: pb.Policy
    snapshot: pb.Snapshot
    scheduler: Verdict
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
            verdict,
            tuple(checker.violations(plan) or ()),
        )
        for plan, verdict in zip(question.plans, verification.verdicts, strict=True)
    ]
