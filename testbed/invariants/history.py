"""What a run leaves behind: every change the watches saw, and the audit log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from testbed.observe.audit import AuditEntry
from testbed.observe.change import Change, JsonObject, Verb


@dataclass(frozen=True, slots=True)
class History:
    """A run from its start until it came to rest.

    Attributes
    ----------
    changes
        In order of receipt; of one kind, that is the order in which they happened.
    audit
        Finished requests, in the order of their answers.
    """

    changes: tuple[Change, ...]
    audit: tuple[AuditEntry, ...] = ()

    def of(self, *kinds: str) -> Iterator[Change]:
        """Yield the changes of some kinds."""
        return (change for change in self.changes if change.kind in kinds)

    def last(self, kind: str) -> list[JsonObject]:
        """Return the objects of a kind that are there at the end."""
        bodies: dict[str, JsonObject] = {}
        for change in self.of(kind):
            if change.verb is Verb.DELETED:
                bodies.pop(change.uid, None)
            else:
                bodies[change.uid] = change.body
        return list(bodies.values())
