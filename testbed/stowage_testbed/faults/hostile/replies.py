"""The lies, each made of what the honest optimiser would have answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from stowage_optimizer.contract import optimizer_pb2 as pb

HUGE_BYTES = 64 * 1024 * 1024
"""Four times what the scheduler takes in one message."""
DRIP_S = 1.0


@dataclass(slots=True)
class Asked:
    """One request, with the honest answer to it.

    Parameters
    ----------
    request
        What the scheduler asks.
    updates
        What the honest optimiser says, as it says it.
    wait
        Returns when the scheduler has hung up, or after so many seconds; tells which.
    """

    request: pb.SolveRequest
    updates: Iterator[pb.SolveUpdate]
    wait: Callable[[float | None], bool]

    def answer(self) -> pb.SolveUpdate:
        """Return the last honest update."""
        updates = list(self.updates)
        return updates[-1] if updates else pb.SolveUpdate()


@dataclass(slots=True)
class Past:
    """The first plan that was ever asked for, to be sent again later."""

    first: list[bytes] = field(default_factory=list)


Reply = Callable[[Asked], Iterator[bytes]]
Lie = Callable[[pb.SolveUpdate, pb.Snapshot], None]


def silence(asked: Asked) -> Iterator[bytes]:
    """Say nothing until the scheduler hangs up."""
    asked.wait(None)
    yield from ()


def drip(asked: Asked) -> Iterator[bytes]:
    """Say a little, once a second, and never come to an end."""
    while not asked.wait(DRIP_S):
        yield pb.SolveUpdate(message="soon").SerializeToString()


def bad_bytes(_asked: Asked) -> Iterator[bytes]:
    """Say what is no message."""
    yield b"\xff" * 64


def huge(_asked: Asked) -> Iterator[bytes]:
    """Say more than fits."""
    yield pb.SolveUpdate(message="x" * HUGE_BYTES, last=True).SerializeToString()


def no_end(asked: Asked) -> Iterator[bytes]:
    """Hang up before the last update."""
    for update in asked.updates:
        if not update.last:
            yield update.SerializeToString()


def _unknown_pod(update: pb.SolveUpdate, _: pb.Snapshot) -> None:
    for placement in update.plan.placements:
        placement.pod_uid = "nobody"


def _unknown_node(update: pb.SolveUpdate, _: pb.Snapshot) -> None:
    for placement in update.plan.placements:
        placement.node = "nowhere"


def _twice(update: pb.SolveUpdate, _: pb.Snapshot) -> None:
    update.plan.placements.extend(list(update.plan.placements))
    update.plan.moves.extend(list(update.plan.moves))


def _over_capacity(update: pb.SolveUpdate, snapshot: pb.Snapshot) -> None:
    for place in (*update.plan.placements,):
        place.node = snapshot.nodes[0].name
    del update.plan.moves[:]


def _protected_victim(update: pb.SolveUpdate, snapshot: pb.Snapshot) -> None:
    _evict(update, [pod for pod in snapshot.pods if pod.node and not pod.movable])


def _needless_victim(update: pb.SolveUpdate, snapshot: pb.Snapshot) -> None:
    _evict(update, [pod for pod in snapshot.pods if pod.node and pod.movable])


def _evict(update: pb.SolveUpdate, victims: list[pb.Pod]) -> None:
    for victim in victims[:1]:
        update.plan.evictions.add(pod_uid=victim.uid, node=victim.node)


def _other_snapshot(update: pb.SolveUpdate, _: pb.Snapshot) -> None:
    update.plan.snapshot_id = "another"


def _wrong_source(update: pb.SolveUpdate, _: pb.Snapshot) -> None:
    for move in update.plan.moves:
        move.from_node = move.to_node


LIES: dict[str, Lie] = {
    "unknown-pod": _unknown_pod,
    "unknown-node": _unknown_node,
    "twice": _twice,
    "over-capacity": _over_capacity,
    "protected-victim": _protected_victim,
    "needless-victim": _needless_victim,
    "other-snapshot": _other_snapshot,
    "wrong-source": _wrong_source,
}
"""Plans that are false, as changes to an honest one."""

RAW: dict[str, Reply] = {
    "silence": silence,
    "drip": drip,
    "bad-bytes": bad_bytes,
    "huge": huge,
    "no-end": no_end,
}
"""Answers that are not even plans."""

OLD_PLAN = "old-plan"
HONEST = "honest"
WAYS = (*LIES, *RAW, OLD_PLAN)


def reply(way: str, asked: Asked, past: Past) -> Iterator[bytes]:
    """Yield the updates of one answer, serialised.

    Parameters
    ----------
    way
        One of `WAYS`, or ``honest``.
    asked
        The request.
    past
        Of this process; the first plan is kept in it.
    """
    if way in RAW:
        yield from RAW[way](asked)
        return
    last = asked.answer()
    if last.HasField("plan") and last.plan.placements and not past.first:
        past.first.append(last.SerializeToString())
    if way == OLD_PLAN and past.first:
        yield past.first[0]
        return
    if way in LIES:
        LIES[way](last, asked.request.snapshot)
    yield last.SerializeToString()
