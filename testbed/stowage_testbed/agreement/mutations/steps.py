"""Steps that lead elsewhere, come in another order, or are missing."""

from __future__ import annotations

from stowage_testbed.agreement.mutations.scene import Mutation, Scene, redirect, target
from stowage_testbed.agreement.ordering import rearrange


def other_node(scene: Scene) -> bool:
    """Send somebody to another node."""
    if not scene.arrivals():
        return False
    redirect(scene.draw.choice(scene.arrivals()), scene.any_node())
    return True


def swapped(scene: Scene) -> bool:
    """Let two change their targets."""
    arrivals = scene.arrivals()
    if len(arrivals) < 2:  # noqa: PLR2004 - a swap takes two
        return False
    one, other = scene.draw.sample(arrivals, 2)
    node = target(one)
    redirect(one, target(other))
    redirect(other, node)
    return True


def crowded(scene: Scene) -> bool:
    """Send everybody to one node."""
    node = scene.any_node()
    for step in scene.arrivals():
        redirect(step, node)
    return bool(scene.arrivals())


def left_out(scene: Scene) -> bool:
    """Leave out a step that others may need."""
    plan = scene.plan
    lists = [steps for steps in (plan.placements, plan.moves, plan.evictions) if steps]
    if not lists:
        return False
    steps = scene.draw.choice(lists)
    del steps[scene.draw.randrange(len(steps))]
    return True


def nobody_placed(scene: Scene) -> bool:
    """Disturb for nothing."""
    placed = bool(scene.plan.placements)
    del scene.plan.placements[:]
    return placed


def everybody_placed(scene: Scene) -> bool:
    """Send every pod that still waits somewhere, gated and unsupported ones too."""
    placed = {one.pod_uid for one in scene.plan.placements}
    waiting = [
        pod for pod in scene.snapshot.pods if not pod.node and pod.uid not in placed
    ]
    for pod in waiting:
        scene.plan.placements.add(pod_uid=pod.uid, node=scene.any_node())
    return bool(waiting)


def turned_round(scene: Scene) -> bool:
    """Carry the steps out the other way round."""
    rearrange(scene.plan, list.reverse)
    return bool(scene.arrivals())


def moved_to_itself(scene: Scene) -> bool:
    """Move somebody to where he is."""
    if not scene.plan.moves:
        return False
    move = scene.draw.choice(list(scene.plan.moves))
    move.to_node = move.from_node
    return True


STEPS: tuple[Mutation, ...] = (
    other_node,
    swapped,
    crowded,
    left_out,
    nobody_placed,
    everybody_placed,
    turned_round,
    moved_to_itself,
)
