"""No eviction without a plan, and none twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from testbed.invariants.history import History
from testbed.invariants.violation import Violation

SCHEDULER = ":stowage"
"""How the user name of a release's own account ends."""


def planned_evictions(history: History) -> Iterator[Violation]:
    """Yield evictions by the scheduler of pods that no stored plan names.

    The plan must have been written before: a process that dies after the eviction must
    leave behind why it was made.
    """
    first_written = _first_written_ns(history)
    for evicted in history.evictions:
        if not evicted.entry.user.endswith(SCHEDULER):
            continue
        times = [at for at, pods in first_written.values() if evicted.uid in pods]
        if not times:
            detail = "no plan names it"
        elif min(times) > evicted.entry.stage_ns:
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


def _first_written_ns(history: History) -> dict[str, tuple[int, set[str]]]:
    """Return of each plan when its status first named pods, and which.

    The audit log tells when a status was written, the watch what it said. The first
    status that names pods is the second one written: the first says `Solving`.
    """
    named: dict[str, set[str]] = {}
    for change in history.of("PackingPlan"):
        status = change.body.get("status") or {}
        steps = [*(status.get("moves") or ()), *(status.get("evictions") or ())]
        named.setdefault(change.name, set()).update(one["podUID"] for one in steps)
    written: dict[str, list[int]] = {}
    for entry in history.audit:
        if (entry.resource, entry.subresource) == ("packingplans", "status"):
            written.setdefault(entry.name, []).append(entry.stage_ns)
    return {
        name: (_second(written.get(name, [])), pods)
        for name, pods in named.items()
        if pods
    }


def _second(times: list[int]) -> int:
    """Return the second moment, or one that never comes."""
    return sorted(times)[1] if len(times) > 1 else 2**63
