"""The evictions of a history, each with the pod as it was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from testbed.invariants.pod import terminating
from testbed.observe.audit import AuditEntry
from testbed.observe.change import Change, JsonObject, Verb

SLACK_NS = 1_000_000_000
"""How far watch receipt and audit log may be apart: names of pods are used again only
after the first has gone, which takes longer where it matters."""


@dataclass(frozen=True, slots=True)
class Evicted:
    """An eviction that was granted.

    Attributes
    ----------
    position
        How many of the history's changes come before it.
    """

    entry: AuditEntry
    body: JsonObject
    position: int

    @property
    def uid(self) -> str:
        """The pod's UID."""
        return str(self.body["metadata"]["uid"])

    @property
    def key(self) -> str:
        """The pod's ``namespace/name``."""
        return f"{self.entry.namespace}/{self.entry.name}"


def granted_evictions(
    changes: Sequence[Change], audit: Iterable[AuditEntry]
) -> Iterator[Evicted]:
    """Yield the evictions that were granted, in their order.

    One of a pod that no watch ever saw is left out: there is nothing to say of it.
    """
    for entry in audit:
        granted = HTTPStatus.OK <= entry.code < HTTPStatus.MULTIPLE_CHOICES
        if (entry.verb, entry.resource, entry.subresource) == (
            "create",
            "pods",
            "eviction",
        ) and granted:
            found = _as_it_was(changes, entry)
            if found is not None:
                yield found


def _as_it_was(changes: Sequence[Change], entry: AuditEntry) -> Evicted | None:
    """Return the pod before its deletion was under way, by the name that it had.

    The watch may tell of the deletion before the eviction's answer is in the log.
    """
    found: JsonObject | None = None
    for position, change in enumerate(changes):
        if change.receipt.wall_ns > entry.stage_ns + SLACK_NS:
            break
        if (change.kind, change.namespace, change.name) != (
            "Pod",
            entry.namespace,
            entry.name,
        ):
            continue
        leaves = change.verb is Verb.DELETED or terminating(change.body)
        if leaves and found and found["metadata"]["uid"] == change.uid:
            return Evicted(entry, found, position)
        if not leaves:
            found = change.body
    if found is None:
        return None
    until = sum(change.receipt.wall_ns <= entry.stage_ns for change in changes)
    return Evicted(entry, found, until)
