"""No overcommit at any instant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

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


def no_overcommit(history: History) -> Iterator[Violation]:
    """Yield the pods that came to a node without room for them.

    A node that shrinks may be over its capacity until its pods go, but nobody else may
    come who asks for what is short. Pods that terminate still take their room.
    """
    nodes: dict[str, Amounts] = {}
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


def _take_node(nodes: dict[str, Amounts], change: Change) -> None:
    if change.verb is Verb.DELETED:
        nodes.pop(change.name, None)
    else:
        nodes[change.name] = allocatable_of(change.body)


def _came(change: Change, known: JsonObject | None) -> bool:
    """Tell whether the pod has just come to its node.

    Of one that a list shows for the first time nobody knows when it came. One that had
    no node before came while nobody watched.
    """
    if known is None and change.verb is Verb.LISTED:
        return False
    return takes_room(change.body) and not (known and node_of(known))


def _short(
    change: Change, nodes: dict[str, Amounts], pods: dict[str, JsonObject]
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
        if amount and taken[resource] > room.get(resource, 0):
            yield Violation(
                RULE,
                f"{key_of(change.body)} on {node}",
                f"{resource}: {taken[resource]} of {room.get(resource, 0)} taken",
                change.receipt.wall_text(),
            )
