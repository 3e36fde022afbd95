"""Checks dual bounds anew, from the contract's messages alone.

Any prices prove some bound: adding what they charge for the constraints that tie nodes
together leaves every plan in question at least as valuable, and then the most valuable
content of each node can be found by itself. Here that is done over again, with code of
its own, and what comes out is held against what the plan claims.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.certificate.conflict_amounts import Amounts
from stowage_optimizer.verify.certificate.knapsack import CELLS
from stowage_optimizer.verify.certificate.pods import Claim, Pods, claims
from stowage_optimizer.verify.certificate.pricing import Weights, proved_bound
from stowage_optimizer.verify.violation import Violation

MOST_CELLS = 10 * CELLS
"""Those where fewer confirm too little: some seconds for a node."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of it."""

    claims: int
    violations: tuple[Violation, ...]


def verify_certificates(
    snapshot: pb.Snapshot, plan: pb.Plan, policy: pb.Policy, left_alone: Collection[str] = ()
) -> Checked:
    """Check every bound of ``plan`` that comes with prices.

    Parameters
    ----------
    snapshot, plan, policy
        A plan that `verify_plan` finds good, and what it answers.
    left_alone
        Classes that the strategy refused, whose pods the bounds do not count.
    """
    case = Case(snapshot, plan, policy)
    amounts, made = Amounts(case), list(claims(plan))
    found = [problem for claim in made for problem in _check(Pods(case, claim, amounts, left_alone))]
    return Checked(len(made), tuple(found))


def _check(pods: Pods) -> Iterator[Violation]:
    claim = pods.claim
    weights = Weights(pods)
    problems = [*pods.problems(), *pods.devices.problems(), *weights.problems(pods.case.policy)]
    if problems:
        yield from (Violation("certificate", claim.name, one) for one in problems)
        return
    for slack, cells in ((claim.dual.scale // 4, CELLS), (0, MOST_CELLS)):
        proved = proved_bound(pods, weights, slack, cells)
        if _enough(claim, proved):
            return
    yield Violation("certificate", claim.name, f"claims {claim.bound}, its prices prove {proved}")


def _enough(claim: Claim, proved: int) -> bool:
    if claim.phase == pb.PHASE_PLACE:
        return proved <= claim.bound
    return proved >= claim.bound
