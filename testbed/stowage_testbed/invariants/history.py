"""What a run leaves behind: every change the watches saw, and the audit log; and what breaks a rule in it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from itertools import islice

from stowage_testbed.observe.audit import AuditEntry
from stowage_testbed.observe.change import Change, JsonObject, Verb, uid_of
from stowage_testbed.observe.pod import Pod, read_pod


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that a pod, node, plan or budget broke; ``at`` is RFC 3339, empty for what is true at the end."""

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
    """A run until it came to rest: changes in order of receipt, audit entries in order of their answers."""

    changes: tuple[Change, ...]
    audit: tuple[AuditEntry, ...] = ()

    def of(self, *kinds: str) -> Iterator[Change]:
        """Yield the changes of some kinds."""
        return (change for change in self.changes if change.kind in kinds)

    def present(self, kind: str, until: int | None = None) -> dict[str, JsonObject]:
        """Return the objects of a kind by UID, after the first ``until`` changes, or after all."""
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


SLACK_NS = 1_000_000_000  # How far watch receipt and audit log may be apart
SCHEDULER = ":stowage"  # How the user name of a release's own account ends


@dataclass(slots=True)
class Life:
    """One pod, from its first change to its last; ``body`` is the one before its deletion began.

    ``granted_at`` and ``leaves_at`` count the changes before its eviction is granted, and it leaves; ``_ns`` are wall
    times.
    """

    uid: str
    body: JsonObject
    seen_ns: int
    granted_at: int | None = None
    leaves_at: int | None = None
    leaves_ns: int | None = None
    gone_ns: int | None = None

    def take(self, position: int, change: Change, facts: Pod) -> None:
        """Take in the next change of the pod."""
        at_ns = change.receipt.wall_ns
        gone = change.verb is Verb.DELETED
        if gone:
            self.gone_ns = at_ns
        if self.leaves_at is not None:
            return
        if self.granted_at is None and facts.evicted:
            self.granted_at = position
        if gone or facts.terminating:
            self.leaves_at, self.leaves_ns = position, at_ns
        else:
            self.body = change.body


Bearers = dict[tuple[str, str], dict[str, Life]]
"""The pods that had each namespace and name, one after the other, by UID."""


def pod_lives(changes: Iterable[Change], facts: Iterable[Pod | None]) -> Bearers:
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


@dataclass(frozen=True, slots=True)
class Evicted:
    """A granted eviction; ``position`` and ``granted`` count the changes before the pod leaves, and the grant."""

    entry: AuditEntry
    body: JsonObject
    position: int
    granted: int

    @property
    def uid(self) -> str:
        """The pod's UID."""
        return uid_of(self.body)

    @property
    def key(self) -> str:
        """The pod's ``namespace/name``."""
        return f"{self.entry.namespace}/{self.entry.name}"

    @property
    def by_scheduler(self) -> bool:
        """Whether the scheduler has asked for it, and not a user who drains a node."""
        return self.entry.user.endswith(SCHEDULER)


def granted_evictions(
    changes: Sequence[Change], facts: Sequence[Pod | None], audit: Iterable[AuditEntry]
) -> Iterator[Evicted]:
    """Yield the granted evictions in their order, but of pods that no watch ever saw."""
    lives = pod_lives(changes, facts)
    for entry in audit:
        asked = (entry.verb, entry.resource, entry.subresource)
        succeeded = HTTPStatus.OK <= entry.code < HTTPStatus.MULTIPLE_CHOICES
        if asked != ("create", "pods", "eviction") or not succeeded:
            continue
        life = _victim(lives.get((entry.namespace, entry.name), {}), entry)
        if life is not None:
            # The watch may show the deletion before the eviction's answer is in the log.
            position = life.leaves_at
            if position is None:
                position = bisect_right(changes, entry.stage_ns, key=lambda one: one.receipt.wall_ns)
            granted = position if life.granted_at is None else life.granted_at
            yield Evicted(entry, life.body, position, granted)


def _victim(bearers: Mapping[str, Life], entry: AuditEntry) -> Life | None:
    """Return the pod that the request names by UID, else the one whose deletion began closest to the answer."""
    if entry.uid:
        return bearers.get(entry.uid)
    early, late = entry.stage_ns - SLACK_NS, entry.stage_ns + SLACK_NS
    there = [
        life for life in bearers.values() if life.seen_ns <= late and (life.gone_ns is None or life.gone_ns >= early)
    ]
    return min(
        there,
        key=lambda life: SLACK_NS if life.leaves_ns is None else abs(life.leaves_ns - entry.stage_ns),
        default=None,
    )
