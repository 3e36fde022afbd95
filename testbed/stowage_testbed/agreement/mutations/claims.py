"""False claims of a plan about itself."""

from __future__ import annotations

from stowage_testbed.agreement.mutations.context import Mutation, MutationContext


def false_count(context: MutationContext) -> bool:
    """Claim to place one more."""
    for tier in context.plan.tiers:
        tier.placed += 1
        tier.upper_bound += 1
    return bool(context.plan.tiers)


def false_limit(context: MutationContext) -> bool:
    """Claim a limit that is already passed."""
    for tier in context.plan.tiers:
        tier.upper_bound = tier.placed - 1
    return bool(context.plan.tiers)


def false_optimum(context: MutationContext) -> bool:
    """Claim optimality, without a limit that proves it."""
    context.plan.optimal = not context.plan.optimal
    return True


def no_tiers(context: MutationContext) -> bool:
    """Claim nothing at all."""
    claimed = bool(context.plan.tiers)
    del context.plan.tiers[:]
    return claimed


def false_curve(context: MutationContext) -> bool:
    """Claim that more moves gain less."""
    context.plan.gain_by_moves.add(moves=0, placed=len(context.snapshot.pods) + 1)
    return True


def false_nodes(context: MutationContext) -> bool:
    """Claim that no node is in use."""
    context.plan.nodes_in_use.before = len(context.snapshot.nodes) + 1
    return True


CLAIMS: tuple[Mutation, ...] = (
    false_count,
    false_limit,
    false_optimum,
    no_tiers,
    false_curve,
    false_nodes,
)
