"""Names that are wrong: pods, nodes, the snapshot."""

from __future__ import annotations

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.agreement.mutations.scene import Mutation, Scene, redirect

GHOST = "ghost"


def stale_snapshot(scene: Scene) -> bool:
    """Answer a snapshot that is gone."""
    scene.plan.snapshot_id = scene.draw.choice(("", f"{scene.snapshot.id}-0"))
    return True


def unknown_pod(scene: Scene) -> bool:
    """Name a pod that there is not."""
    if not scene.steps():
        return False
    scene.draw.choice(scene.steps()).pod_uid = scene.draw.choice((GHOST, ""))
    return True


def unknown_node(scene: Scene) -> bool:
    """Send somebody to a node that there is not."""
    if not scene.arrivals():
        return False
    step = scene.draw.choice(scene.arrivals())
    redirect(step, scene.draw.choice((GHOST, "")))
    return True


def named_twice(scene: Scene) -> bool:
    """Place, move or evict somebody a second time."""
    if not scene.steps():
        return False
    twin = scene.draw.choice(scene.steps())
    if isinstance(twin, pb.Placement):
        scene.plan.placements.append(twin)
    elif isinstance(twin, pb.Move):
        scene.plan.moves.append(twin)
    else:
        scene.plan.evictions.append(twin)
    return True


def moved_and_gone(scene: Scene) -> bool:
    """Evict somebody who is moved."""
    if not scene.plan.moves:
        return False
    move = scene.draw.choice(list(scene.plan.moves))
    scene.plan.evictions.add(pod_uid=move.pod_uid, node=move.from_node)
    return True


def wrong_origin(scene: Scene) -> bool:
    """Take somebody from where he is not."""
    leaving: list[pb.Move | pb.Eviction] = [*scene.plan.moves, *scene.plan.evictions]
    if not leaving:
        return False
    step = scene.draw.choice(leaving)
    if isinstance(step, pb.Move):
        step.from_node = scene.any_node()
    else:
        step.node = scene.any_node()
    return True


def placed_though_running(scene: Scene) -> bool:
    """Place somebody who runs."""
    if not scene.running():
        return False
    pod = scene.draw.choice(scene.running())
    scene.plan.placements.add(pod_uid=pod.uid, node=scene.any_node())
    return True


def moved_though_pending(scene: Scene) -> bool:
    """Move somebody who waits."""
    if not scene.plan.placements:
        return False
    placement = scene.plan.placements.pop()
    scene.plan.moves.add(
        pod_uid=placement.pod_uid, from_node=scene.any_node(), to_node=placement.node
    )
    return True


NAMES: tuple[Mutation, ...] = (
    stale_snapshot,
    unknown_pod,
    unknown_node,
    named_twice,
    moved_and_gone,
    wrong_origin,
    placed_though_running,
    moved_though_pending,
)
