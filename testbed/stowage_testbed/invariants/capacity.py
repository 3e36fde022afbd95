"""No overcommit at any instant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from stowage_testbed.amounts.resources import Resources
from stowage_testbed.invariants.history import History, Violation
from stowage_testbed.observe.change import Change, Verb
from stowage_testbed.observe.pod import Pod, allocatable_of

UNDER_WAY_NS = 500_000_000
"""How long a pod that was sent to a node before it shrank may be on its way there."""


@dataclass(frozen=True, slots=True)
class Room:
    """What a node can give, and what it could give until just now."""

    amounts: Resources
    former: Resources
    since_ns: int

    def changed(self, amounts: Resources, now_ns: int) -> Room:
        """Return the room after a change at ``now_ns``."""
        if amounts == self.amounts:
            return self
        return Room(amounts, self.amounts, now_ns)

    def of(self, resource: str, now_ns: int) -> int:
        """Return how much there was for whoever comes at ``now_ns``."""
        amount = self.amounts[resource]
        if now_ns - self.since_ns > UNDER_WAY_NS:
            return amount
        return max(amount, self.former[resource])


def no_overcommit(history: History) -> Iterator[Violation]:
    """Yield the pods that came to a node without room for them.

    A node that shrinks may be over its capacity until its pods go, but no other pod
    may come that asks for what is short, unless it was bound before. Terminating pods
    still take their room.
    """
    nodes: dict[str, Room] = {}
    pods: dict[str, Pod] = {}
    taken: dict[str, Counter[str]] = {}
    for change, facts in zip(history.changes, history.facts, strict=True):
        if change.kind == "Node":
            _take_node(nodes, change)
        if facts is None:
            continue
        known = pods.pop(facts.uid, None)
        if known is not None and known.takes_room:
            taken[known.node].subtract(known.requests)
        if change.verb is Verb.DELETED:
            continue
        pods[facts.uid] = facts
        if facts.takes_room:
            taken.setdefault(facts.node, Counter()).update(facts.requests)
        if _came(change.verb, facts, known):
            yield from _short(change, facts, nodes, taken)


def _take_node(nodes: dict[str, Room], change: Change) -> None:
    if change.verb is Verb.DELETED:
        nodes.pop(change.name, None)
        return
    amounts, now_ns = allocatable_of(change.body), change.receipt.monotonic_ns
    known = nodes.get(change.name, Room(amounts, amounts, now_ns))
    nodes[change.name] = known.changed(amounts, now_ns)


def _came(verb: Verb, facts: Pod, known: Pod | None) -> bool:
    """Return whether the pod has just come to its node.

    When a pod that a list shows for the first time was bound is unknown. One that had
    no node before was bound while no watch was open.
    """
    if known is None and verb is Verb.LISTED:
        return False
    return facts.takes_room and not (known and known.node)


def _short(
    change: Change, facts: Pod, nodes: Mapping[str, Room], taken: Mapping[str, Mapping[str, int]]
) -> Iterator[Violation]:
    room = nodes.get(facts.node)
    if room is None:
        return
    for resource in facts.requests:
        there = room.of(resource, change.receipt.monotonic_ns)
        held = taken[facts.node][resource]
        if held > there:
            detail = f"{resource}: {held} of {there} taken"
            yield Violation("overcommit", f"{facts.key} on {facts.node}", detail, change.receipt.wall_text())
