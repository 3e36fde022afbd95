"""No overcommit at any instant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from testbed.invariants.history import History
from testbed.invariants.pod import (
    Amounts,
    allocatable_of,
    key_of,
    node_of,
    requests_of,
    takes_room,
)
from testbed.invariants.violation import Violation
from testbed.observe.change import Change, JsonObject, Verb

RULE = "overcommit"
UNDER_WAY_NS = 500_000_000
"""How long a pod that was sent to a node before it shrank may be on its way there."""


@dataclass(frozen=True, slots=True)
class Room:
    """What a node can give, and what it could give until just now."""

    amounts: Amounts
    former: Amounts
    since_ns: int

    def changed(self, amounts: Amounts, now_ns: int) -> Room:
        """Return the room after a change at ``now_ns``."""
        if amounts == self.amounts:
            return self
        return Room(amounts, self.amounts, now_ns)

    def of(self, resource: str, now_ns: int) -> int:
        """Return how much there was for whoever comes at ``now_ns``."""
        amount = self.amounts.get(resource, 0)
        if now_ns - self.since_ns > UNDER_WAY_NS:
            return amount
        return max(amount, self.former.get(resource, 0))


def no_overcommit(history: History) -> Iterator[Violation]:
    """Yield the pods that came to a node without room for them.

    A node that shrinks may be over its capacity until its pods go, but nobody else may
    come who asks for what is short, unless he was sent before. Pods that terminate
    still take their room.
    """
    nodes: dict[str, Room] = {}
    pods: dict[str, JsonObject] = {}
    for change in history.of("Node", "Pod"):
        if change.kind == "Node":
            _take_node(nodes, change)
            continue
        known = pods.pop(change.uid, None)
        if change.verb is Verb.DELETED:
            continue
        pods[change.uid] = change.body
        if _came(change, known):
            yield from _short(change, nodes, pods)


def _take_node(nodes: dict[str, Room], change: Change) -> None:
    if change.verb is Verb.DELETED:
        nodes.pop(change.name, None)
        return
    amounts, now_ns = allocatable_of(change.body), change.receipt.monotonic_ns
    known = nodes.get(change.name, Room(amounts, amounts, now_ns))
    nodes[change.name] = known.changed(amounts, now_ns)


def _came(change: Change, known: JsonObject | None) -> bool:
    """Tell whether the pod has just come to its node.

    Of one that a list shows for the first time nobody knows when it came. One that had
    no node before came while nobody watched.
    """
    if known is None and change.verb is Verb.LISTED:
        return False
    return takes_room(change.body) and not (known and node_of(known))


def _short(
    change: Change, nodes: dict[str, Room], pods: dict[str, JsonObject]
) -> Iterator[Violation]:
    node = node_of(change.body)
    room = nodes.get(node)
    if room is None:
        return
    taken: Counter[str] = Counter()
    for body in pods.values():
        if node_of(body) == node and takes_room(body):
            taken.update(requests_of(body))
    for resource, amount in requests_of(change.body).items():
        there = room.of(resource, change.receipt.monotonic_ns)
        if amount and taken[resource] > there:
            yield Violation(
                RULE,
                f"{key_of(change.body)} on {node}",
                f"{resource}: {taken[resource]} of {there} taken",
                change.receipt.wall_text(),
            )
