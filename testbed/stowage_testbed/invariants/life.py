"""The life of each pod. Names are reused, so only the UID identifies a pod."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stowage_testbed.invariants.facts import PodFacts
from stowage_testbed.observe.change import Change, JsonObject, Verb


@dataclass(slots=True)
class Life:
    """One pod, from its first change to its last.

    Attributes
    ----------
    body
        The pod before its deletion was under way, if it was seen then.
    seen_ns
        Wall time at which it was first seen.
    granted_at
        How many of the history's changes come before the one that shows that an
        eviction was granted, which the server writes into the pod before it deletes it;
        ``None`` if none does.
    leaves_at
        The same for the one that shows its deletion.
    leaves_ns, gone_ns
        Wall time at which its deletion was seen to have begun, and to be done.
    """

    uid: str
    body: JsonObject
    seen_ns: int
    granted_at: int | None = None
    leaves_at: int | None = None
    leaves_ns: int | None = None
    gone_ns: int | None = None

    def take(self, position: int, change: Change, facts: PodFacts) -> None:
        """Take in the next change of the pod."""
        at_ns = change.receipt.wall_ns
        gone = change.verb is Verb.DELETED
        if gone:
            self.gone_ns = at_ns
        if self.leaves_at is not None:
            return
        if self.granted_at is None and facts.granted:
            self.granted_at = position
        if gone or facts.terminating:
            self.leaves_at, self.leaves_ns = position, at_ns
        else:
            self.body = change.body


Bearers = dict[tuple[str, str], dict[str, Life]]
"""The pods that had each namespace and name, one after the other, by UID."""


def pod_lives(changes: Iterable[Change], facts: Iterable[PodFacts | None]) -> Bearers:
    """Return every pod of a history, whose facts are given change by change."""
    bearers: Bearers = {}
    for position, (change, seen) in enumerate(zip(changes, facts, strict=True)):
        if seen is None:
            continue
        of_name = bearers.setdefault((seen.namespace, seen.name), {})
        life = of_name.get(seen.uid)
        if life is None:
            life = Life(seen.uid, change.body, change.receipt.wall_ns)
            of_name[seen.uid] = life
        life.take(position, change, seen)
    return bearers
