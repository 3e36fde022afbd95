"""What a run leaves behind: every change the watches saw, and the audit log; and what breaks a rule in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from stowage_testbed.invariants.eviction import Evicted, granted_evictions
from stowage_testbed.observe.audit import AuditEntry
from stowage_testbed.observe.change import Change, JsonObject, Verb
from stowage_testbed.observe.pod import Pod, read_pod


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that a pod, node, plan or budget broke.

    ``at`` is wall time, RFC 3339; empty for what is true of the end only.
    """

    rule: str
    subject: str
    detail: str
    at: str = ""

    def in_words(self) -> str:
        """Return the violation in one line."""
        moment = f" at {self.at}" if self.at else ""
        return f"{self.rule}: {self.subject}: {self.detail}{moment}"


# Without slots: a cached property is kept in the object's own dictionary.
@dataclass(frozen=True)
class History:
    """A run from its start until it came to rest.

    Changes are in order of receipt; of one kind, that is the order in which they
    happened. The audit has finished requests, in the order of their answers.
    """

    changes: tuple[Change, ...]
    audit: tuple[AuditEntry, ...] = ()

    def of(self, *kinds: str) -> Iterator[Change]:
        """Yield the changes of some kinds."""
        return (change for change in self.changes if change.kind in kinds)

    def present(self, kind: str, until: int | None = None) -> dict[str, JsonObject]:
        """Return the objects of a kind that there are at an instant, by UID.

        By then ``until`` of the changes have been received; left out, all.
        """
        bodies: dict[str, JsonObject] = {}
        for change in islice(self.changes, until):
            if change.kind != kind:
                continue
            if change.verb is Verb.DELETED:
                bodies.pop(change.uid, None)
            else:
                bodies[change.uid] = change.body
        return bodies

    @cached_property
    def facts(self) -> tuple[Pod | None, ...]:
        """What each change says of its pod; ``None`` for changes of other kinds."""
        return tuple(read_pod(change.body) if change.kind == "Pod" else None for change in self.changes)

    def pods(self, until: int | None = None) -> dict[str, Pod]:
        """Return the pods that there are at an instant, as in `present`."""
        pods: dict[str, Pod] = {}
        for change, facts in islice(zip(self.changes, self.facts, strict=True), until):
            if facts is None:
                continue
            if change.verb is Verb.DELETED:
                pods.pop(facts.uid, None)
            else:
                pods[facts.uid] = facts
        return pods

    @cached_property
    def evictions(self) -> tuple[Evicted, ...]:
        """The evictions that were granted, in their order."""
        return tuple(granted_evictions(self.changes, self.facts, self.audit))
