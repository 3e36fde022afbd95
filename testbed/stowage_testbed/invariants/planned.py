"""No eviction without a plan, and none twice."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from http import HTTPStatus

from stowage_testbed.invariants.history import History
from stowage_testbed.invariants.violation import Violation
from stowage_testbed.observe.audit import AuditEntry
from stowage_testbed.observe.change import JsonObject, Verb


def planned_evictions(history: History) -> Iterator[Violation]:
    """Yield evictions by the scheduler of pods that no stored plan names.

    The plan must have been written before: a process that dies after the eviction must
    leave behind why it was made.
    """
    stored = _first_stored_ns(history)
    for evicted in history.evictions:
        if not evicted.by_scheduler:
            continue
        if evicted.uid not in stored:
            detail = "no plan names it"
        elif stored[evicted.uid] > evicted.entry.stage_ns:
            detail = "it was evicted before its plan was stored"
        else:
            continue
        yield Violation("planned-eviction", evicted.key, detail)


def evicted_once(history: History) -> Iterator[Violation]:
    """Yield pods of which more than one eviction was granted."""
    counts = Counter((evicted.uid, evicted.key) for evicted in history.evictions)
    for (_, key), count in counts.items():
        if count > 1:
            yield Violation("evicted-once", key, f"evicted {count} times")


def _first_stored_ns(history: History) -> dict[str, int]:
    """Return since when a plan that names it was stored, by the UID of each pod.

    The watch shows what a status said, if a little late; the audit log shows when one
    was written. The first status that names pods is the second one written: the first
    says `Solving`.
    """
    written = _status_writes_ns(history.audit)
    freed_ns: dict[str, int] = {}
    since_ns: dict[str, int] = {}
    stored: dict[str, int] = {}
    for change in history.of("PackingPlan"):
        if change.verb is Verb.DELETED:
            freed_ns[change.name] = change.receipt.wall_ns
            continue
        # What was written before is of an earlier plan of that name.
        since = since_ns.setdefault(change.uid, freed_ns.get(change.name, 0))
        own = written.get(change.name, [])
        second = bisect_right(own, since) + 1
        at = min([change.receipt.wall_ns, *own[second : second + 1]])
        for uid in _named(change.body):
            stored[uid] = min(at, stored.get(uid, at))
    return stored


def _status_writes_ns(audit: Sequence[AuditEntry]) -> dict[str, list[int]]:
    """Return when a status was written, in order, by the name of the plan."""
    written: dict[str, list[int]] = {}
    for entry in audit:
        target = (entry.resource, entry.subresource)
        if target == ("packingplans", "status") and entry.code == HTTPStatus.OK:
            written.setdefault(entry.name, []).append(entry.stage_ns)
    return {name: sorted(times) for name, times in written.items()}


def _named(plan: JsonObject) -> Iterator[str]:
    """Yield the UIDs of the pods that a plan disrupts."""
    status = plan.get("status") or {}
    for step in (*(status.get("moves") or ()), *(status.get("evictions") or ())):
        yield step["podUID"]
