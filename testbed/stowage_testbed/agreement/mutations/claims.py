"""What a plan says of itself and is not true."""

from __future__ import annotations

from stowage_testbed.agreement.mutations.scene import Mutation, Scene


def false_count(scene: Scene) -> bool:
    """Claim to place one more."""
    for tier in scene.plan.tiers:
        tier.placed += 1
        tier.upper_bound += 1
    return bool(scene.plan.tiers)


def false_limit(scene: Scene) -> bool:
    """Claim a limit that is already passed."""
    for tier in scene.plan.tiers:
        tier.upper_bound = tier.placed - 1
    return bool(scene.plan.tiers)


def false_optimum(scene: Scene) -> bool:
    """Claim that nothing is better, without a limit that says so."""
    scene.plan.optimal = not scene.plan.optimal
    return True


def no_account(scene: Scene) -> bool:
    """Say nothing at all."""
    told = bool(scene.plan.tiers)
    del scene.plan.tiers[:]
    return told


def false_curve(scene: Scene) -> bool:
    """Claim that more moves gain less."""
    scene.plan.gain_by_moves.add(moves=0, placed=len(scene.snapshot.pods) + 1)
    return True


def false_nodes(scene: Scene) -> bool:
    """Claim that no node is in use."""
    scene.plan.nodes_in_use.before = len(scene.snapshot.nodes) + 1
    return True


CLAIMS: tuple[Mutation, ...] = (
    false_count,
    false_limit,
    false_optimum,
    no_account,
    false_curve,
    false_nodes,
)
