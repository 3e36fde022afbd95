"""Random plans that keep the rules as far as room, taints and the contract go.

What pods demand of each other is left to chance, so that some of the plans are good
and others are not, each for one reason.
"""

from __future__ import annotations

from random import Random

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.agreement.board import Board
from stowage_testbed.agreement.ordering import rearrange

LOOK_SHARE = 0.85
"""Part of the pods for which nodes that turn them away are left out."""

TRIED_NODES = 3
NEEDLESS_SHARE = 0.2


def propose(draw: Random, board: Board) -> pb.Plan:
    """Return a plan that places some pending pods; ``board`` is left as it leads to."""
    pending = [uid for uid in board.pending() if board.supported(uid)]
    gained = []
    for uid in draw.sample(pending, draw.randint(min(1, len(pending)), len(pending))):
        if any(_seat(draw, board, uid, node) for node in _nodes(draw, board, uid)):
            gained.append(board.priority(uid))
    if draw.random() < NEEDLESS_SHARE:
        _move_needlessly(draw, board, max(gained, default=0))
    plan = board.plan()
    rearrange(plan, draw.shuffle)
    return plan


def _nodes(draw: Random, board: Board, uid: str) -> list[str]:
    nodes = list(board.index.nodes)
    if draw.random() < LOOK_SHARE:
        nodes = board.open_nodes(uid)
    return draw.sample(nodes, min(TRIED_NODES, len(nodes)))


def _seat(draw: Random, board: Board, uid: str, node: str) -> bool:
    """Bring the pod to ``node``, with others out of its way if that helps."""
    if board.fits(uid, node):
        board.put(uid, node)
        return True
    went = []
    for other in _in_the_way(draw, board, uid, node):
        elsewhere = _elsewhere(draw, board, other)
        if not elsewhere and board.priority(other) >= board.priority(uid):
            continue
        board.put(other, elsewhere)
        went.append(other)
        if board.fits(uid, node):
            board.put(uid, node)
            return True
    for other in went:
        board.put(other, node)
    return False


def _in_the_way(draw: Random, board: Board, uid: str, node: str) -> list[str]:
    """Return who may be disturbed for the pod, in random order."""
    others = [
        other
        for other in board.movable()
        if board.where[other] == node and board.priority(other) <= board.priority(uid)
    ]
    draw.shuffle(others)
    return others


def _elsewhere(draw: Random, board: Board, uid: str) -> str:
    nodes = [
        node
        for node in board.open_nodes(uid)
        if node != board.where[uid] and board.fits(uid, node)
    ]
    return draw.choice(nodes) if nodes else ""


def _move_needlessly(draw: Random, board: Board, most: int) -> None:
    """Move somebody of a priority up to ``most`` whom nobody asked to."""
    movable = [uid for uid in board.movable() if board.priority(uid) <= most]
    if movable:
        uid = draw.choice(movable)
        board.put(uid, _elsewhere(draw, board, uid) or board.where[uid])
