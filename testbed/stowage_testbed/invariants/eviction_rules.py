"""Which evictions are allowed: planned ones, once, of pods that are not protected."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from http import HTTPStatus

from stowage_testbed.invariants.history import History, Violation
from stowage_testbed.observe.change import JsonObject, Verb
from stowage_testbed.observe.pod import FINISHED, controller_of, node_of, priority_of

SYSTEM_CRITICAL = 2_000_000_000
MIRROR = "kubernetes.io/config.mirror"
SOURCE = "kubernetes.io/config.source"
SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
DO_NOT_MOVE = "stowage.dev/do-not-move"

REPLACING = ("ReplicaSet", "ReplicationController", "StatefulSet", "Job")
"""Controllers that make a new pod for one that was evicted, to run anywhere."""


def _annotation(body: JsonObject, name: str) -> str | None:
    """Return an annotation, which may be there and empty."""
    value = (body["metadata"].get("annotations") or {}).get(name)
    return None if value is None else str(value)


def _phase(body: JsonObject) -> str:
    return str((body.get("status") or {}).get("phase", "Pending"))


def _opted_out(body: JsonObject) -> bool:
    return (
        _annotation(body, DO_NOT_MOVE) not in {None, "false"}
        or _annotation(body, DO_NOT_DISRUPT) == "true"
        or _annotation(body, SAFE_TO_EVICT) == "false"
    )


PROTECTED: dict[str, Callable[[JsonObject], bool]] = {
    "in kube-system": lambda body: body["metadata"]["namespace"] == "kube-system",
    "system-critical": lambda body: priority_of(body) >= SYSTEM_CRITICAL,
    "of no controller": lambda body: not controller_of(body),
    "of a DaemonSet": lambda body: controller_of(body).get("kind") == "DaemonSet",
    "of an unknown controller": lambda body: controller_of(body).get("kind") not in {None, *REPLACING, "DaemonSet"},
    "a mirror pod": lambda body: _annotation(body, MIRROR) is not None,
    "a static pod": lambda body: _annotation(body, SOURCE) not in {None, "api"},
    "opted out": _opted_out,
    "bound to its node's disk": lambda body: any(
        volume.get("hostPath") for volume in (body.get("spec") or {}).get("volumes") or ()
    ),
    "not bound": lambda body: not node_of(body),
    "not started": lambda body: _phase(body) == "Pending",
    "finished": lambda body: _phase(body) in FINISHED,
}
"""Written down a second time, apart from the scheduler's own rules."""


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


def no_protected_pod_evicted(history: History) -> Iterator[Violation]:
    """Yield evictions by the scheduler of pods that it must never disrupt.

    A user may evict each of them. A drain meets pods that have just been bound, and has
    no reason to spare them.
    """
    for evicted in history.evictions:
        if not evicted.by_scheduler:
            continue
        for why, applies in PROTECTED.items():
            if applies(evicted.body):
                yield Violation("protected", evicted.key, f"it is {why}")


def _first_stored_ns(history: History) -> dict[str, int]:
    """Return since when a plan that names it was stored, by the UID of each pod.

    The watch shows what a status said, if a little late; the audit log shows when one
    was written. The first status that names pods is the second one written: the first
    says `Solving`.
    """
    written: dict[str, list[int]] = {}
    for entry in history.audit:
        if (entry.resource, entry.subresource, entry.code) == ("packingplans", "status", HTTPStatus.OK):
            written.setdefault(entry.name, []).append(entry.stage_ns)
    for times_ns in written.values():
        times_ns.sort()
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
        status = change.body.get("status") or {}
        for step in (*(status.get("moves") or ()), *(status.get("evictions") or ())):
            stored[step["podUID"]] = min(at, stored.get(step["podUID"], at))
    return stored
