"""Random plans that keep the rules as far as room, taints and the contract go.

Relations between pods are left to chance, so that some of the plans are good and others
are not, each for one reason.
"""

from __future__ import annotations

from random import Random

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.agreement.ordering import rearrange
from stowage_testbed.agreement.plan_builder import PlanBuilder

LOOK_SHARE = 0.85
"""Part of the pods for which nodes that turn them away are left out."""

TRIED_NODES = 3
NEEDLESS_SHARE = 0.2


def propose(rng: Random, builder: PlanBuilder) -> pb.Plan:
    """Return a plan that places some pending pods; ``builder`` holds its result."""
    pending = [uid for uid in builder.pending() if builder.supported(uid)]
    gained = []
    for uid in rng.sample(pending, rng.randint(min(1, len(pending)), len(pending))):
        if any(_place(rng, builder, uid, node) for node in _nodes(rng, builder, uid)):
            gained.append(builder.priority(uid))
    if rng.random() < NEEDLESS_SHARE:
        _move_needlessly(rng, builder, max(gained, default=0))
    plan = builder.plan()
    rearrange(plan, rng.shuffle)
    return plan


def _nodes(rng: Random, builder: PlanBuilder, uid: str) -> list[str]:
    nodes = list(builder.index.nodes)
    if rng.random() < LOOK_SHARE:
        nodes = builder.open_nodes(uid)
    return rng.sample(nodes, min(TRIED_NODES, len(nodes)))


def _place(rng: Random, builder: PlanBuilder, uid: str, node: str) -> bool:
    """Put the pod on ``node``, and move others out of its way if that helps."""
    if builder.fits(uid, node):
        builder.put(uid, node)
        return True
    went = []
    for other in _in_the_way(rng, builder, uid, node):
        elsewhere = _elsewhere(rng, builder, other)
        if not elsewhere and builder.priority(other) >= builder.priority(uid):
            continue
        builder.put(other, elsewhere)
        went.append(other)
        if builder.fits(uid, node):
            builder.put(uid, node)
            return True
    for other in went:
        builder.put(other, node)
    return False


def _in_the_way(rng: Random, builder: PlanBuilder, uid: str, node: str) -> list[str]:
    """Return the pods that may be disrupted for the pod, in random order."""
    others = [
        other
        for other in builder.movable()
        if builder.where[other] == node
        and builder.priority(other) <= builder.priority(uid)
    ]
    rng.shuffle(others)
    return others


def _elsewhere(rng: Random, builder: PlanBuilder, uid: str) -> str:
    nodes = [
        node
        for node in builder.open_nodes(uid)
        if node != builder.where[uid] and builder.fits(uid, node)
    ]
    return rng.choice(nodes) if nodes else ""


def _move_needlessly(rng: Random, builder: PlanBuilder, most: int) -> None:
    """Move a pod of a priority up to ``most`` needlessly."""
    movable = [uid for uid in builder.movable() if builder.priority(uid) <= most]
    if movable:
        uid = rng.choice(movable)
        builder.put(uid, _elsewhere(rng, builder, uid) or builder.where[uid])
