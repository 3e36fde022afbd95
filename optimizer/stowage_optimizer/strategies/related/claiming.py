"""What a plan with relations may claim: limits of the same problem without them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from stowage_optimizer.model.certificate import Certificate, ProofMethod, ProofStatus
from stowage_optimizer.model.objective import score
from stowage_optimizer.model.packing import Assignment
from stowage_optimizer.model.plan import Plan, TierResult
from stowage_optimizer.strategies.bounds import trivial_bounds
from stowage_optimizer.strategies.planning import PlanWriter


def claimed(
    writer: PlanWriter, assignment: Assignment, easier: Plan, reached: Assignment
) -> Plan:
    """Return ``assignment`` as a plan with the limits that ``easier`` proves for it.

    A limit is of all plans that are as good in everything before. So it holds down to
    the first phase in which the two differ; below, nothing is known.

    Parameters
    ----------
    writer
        Writes plans of the problem with relations.
    assignment
        What to write.
    easier, reached
        A plan for the same pods without relations, and its assignment.
    """
    plan = writer.write(assignment, trivial_bounds(writer.packing))
    if not easier.tiers:
        return plan
    tiers = _tiers(writer, plan, assignment, easier, reached)
    return replace(plan, tiers=tuple(tiers))


def tightest(
    some: Sequence[TierResult], others: Sequence[TierResult]
) -> tuple[TierResult, ...]:
    """Return of each tier of one plan the better of two accounts of what is proved."""
    return tuple(
        max(pair, key=lambda tier: (tier.optimal, -tier.upper_bound))
        for pair in zip(some, others, strict=True)
    )


def _tiers(
    writer: PlanWriter,
    plan: Plan,
    assignment: Assignment,
    easier: Plan,
    reached: Assignment,
) -> Iterator[TierResult]:
    packing = writer.packing
    mine = score(packing, assignment, writer.policy)
    theirs = score(packing, reached, writer.policy)
    kept = {
        priority: one.kept == other.kept
        for priority, one, other in zip(packing.tiers, mine, theirs, strict=True)
    }
    same = proved = True
    for own, known in zip(plan.tiers, easier.tiers, strict=True):
        same = same and kept.get(own.priority, True)
        if not same:
            yield replace(own, optimal=False)
            proved = False
            continue
        same = (own.placed, own.disruption) == (known.placed, known.disruption)
        # Equal to what is proved of it, or open somewhere.
        proved = proved and same and known.optimal
        tier = known if same else _limited(own, known)
        yield replace(tier, optimal=proved)


def _limited(own: TierResult, known: TierResult) -> TierResult:
    """Return ``own``, the first to differ, with the limits of ``known``.

    With more or fewer pods placed nothing is known of the disruption.
    """
    limit = max(own.placed, known.upper_bound)
    place = _open(known.place, reached=own.placed == limit)
    if own.placed != known.placed:
        return replace(own, upper_bound=limit, place=place)
    least = min(own.disruption, known.disruption_lower_bound)
    disrupt = _open(known.disrupt, reached=own.disruption == least)
    return replace(
        own,
        upper_bound=limit,
        disruption_lower_bound=least,
        place=place,
        disrupt=disrupt,
    )


def _open(certificate: Certificate, *, reached: bool) -> Certificate:
    """Return ``certificate`` of a limit that may be reached by one plan only."""
    if reached:
        return replace(certificate, status=ProofStatus.PROVED)
    if certificate.status is not ProofStatus.PROVED:
        return certificate
    trivial = certificate.method in (ProofMethod.TRIVIAL, ProofMethod.UNSPECIFIED)
    return replace(
        certificate, status=ProofStatus.GAP if trivial else ProofStatus.BOUND
    )
