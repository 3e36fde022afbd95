"""Others who are moved or evicted."""

from __future__ import annotations

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.movability import covers
from stowage_testbed.agreement.mutations.scene import Mutation, Scene


def anybody_goes(scene: Scene) -> bool:
    """Disturb one more pod that may be disturbed."""
    return _disturb_one(scene, [pod for pod in scene.running() if pod.movable])


def protected_goes(scene: Scene) -> bool:
    """Disturb somebody who may not be."""
    return _disturb_one(scene, [pod for pod in scene.running() if not pod.movable])


def higher_goes(scene: Scene) -> bool:
    """Evict a pod of the highest priority of all that run."""
    running = scene.running()
    if not running:
        return False
    pod = max(running, key=lambda pod: scene.index.priority[pod.class_id])
    scene.plan.evictions.add(pod_uid=pod.uid, node=pod.node)
    return True


def evicted_instead(scene: Scene) -> bool:
    """Evict somebody whom the plan moves."""
    if not scene.plan.moves:
        return False
    moves = list(scene.plan.moves)
    move = moves.pop(scene.draw.randrange(len(moves)))
    del scene.plan.moves[:]
    scene.plan.moves.extend(moves)
    scene.plan.evictions.add(pod_uid=move.pod_uid, node=move.from_node)
    return True


def budget_overdrawn(scene: Scene) -> bool:
    """Disturb all pods of a disruption budget."""
    budgets = list(scene.snapshot.disruption_budgets)
    if not budgets:
        return False
    budget = scene.draw.choice(budgets)
    members = [
        pod
        for pod in scene.running()
        if covers(budget, scene.index.classes[pod.class_id])
    ]
    for pod in members:
        scene.disturb(pod)
    return bool(members)


def two_change_places(scene: Scene) -> bool:
    """Let two pods on different nodes go round in a circle."""
    movable = [pod for pod in scene.running() if pod.movable]
    scene.draw.shuffle(movable)
    if not movable:
        return False
    one = movable[0]
    for other in movable:
        if other.node != one.node:
            moves = scene.plan.moves
            moves.add(pod_uid=one.uid, from_node=one.node, to_node=other.node)
            moves.add(pod_uid=other.uid, from_node=other.node, to_node=one.node)
            return True
    return False


def _disturb_one(scene: Scene, pods: list[pb.Pod]) -> bool:
    if pods:
        scene.disturb(scene.draw.choice(pods))
    return bool(pods)


VICTIMS: tuple[Mutation, ...] = (
    anybody_goes,
    protected_goes,
    higher_goes,
    evicted_instead,
    budget_overdrawn,
    two_change_places,
)
