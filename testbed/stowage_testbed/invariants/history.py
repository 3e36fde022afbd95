"""What a run leaves behind: every change the watches saw, and the audit log; and what breaks a rule in it."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from stowage_testbed.amounts.resources import NOTHING, Resources
from stowage_testbed.observe.audit import AuditEntry
from stowage_testbed.observe.change import Change, JsonObject, Verb
from stowage_testbed.observe.node import read_node
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

    def pods(self, until: int | None = None) -> dict[str, Pod]:
        """Return the pods that there are at an instant, as in `present`."""
        return {uid: read_pod(body) for uid, body in self.present("Pod", until).items()}

    @cached_property
    def steps(self) -> tuple[tuple[Change, Pod | None], ...]:
        """The changes, each with its pod; ``None`` for changes of other kinds."""
        return tuple((change, read_pod(change.body) if change.kind == "Pod" else None) for change in self.changes)

    @cached_property
    def evictions(self) -> tuple[Evicted, ...]:
        """The evictions that were granted, in their order, but for those of pods that no watch ever saw."""
        evictions: list[Evicted] = []
        lives: dict[tuple[str, str], dict[str, _Life]] = defaultdict(dict)
        for position, (change, pod) in enumerate(self.steps):
            if pod is not None:
                bearers = lives[pod.namespace, pod.name]
                life = bearers.setdefault(pod.uid, _Life(pod, change.body, change.receipt.wall_ns))
                life.take(position, change, pod)
        for entry in self.audit:
            granted = entry.creates("pods", "eviction")
            found = _find_evicted(lives.get((entry.namespace, entry.name), {}), entry) if granted else None
            if found is not None:
                # The watch may show the deletion before the eviction's answer is in the log.
                leaves = found.leaves_at
                if leaves is None:
                    leaves = bisect_right(self.changes, entry.stage_ns, key=lambda one: one.receipt.wall_ns)
                granted_at = leaves if found.granted_at is None else found.granted_at
                evictions.append(Evicted(entry, found.pod, found.body, leaves, granted_at))
        return tuple(evictions)


SLACK_NS = 1_000_000_000  # How far watch receipt and audit log may be apart
SCHEDULER = ":stowage"  # How the user name of a release's own account ends


@dataclass(slots=True)
class _Life:
    """A pod from its first change to its last, as it was before its deletion began; ``_at`` count the changes before.

    ``_ns`` are wall times.
    """

    pod: Pod
    body: JsonObject
    seen_ns: int
    granted_at: int | None = None
    leaves_at: int | None = None
    leaves_ns: int | None = None
    gone_ns: int | None = None

    def take(self, position: int, change: Change, pod: Pod) -> None:
        at_ns, gone = change.receipt.wall_ns, change.verb is Verb.DELETED
        if gone:
            self.gone_ns = at_ns
        if self.leaves_at is not None:
            return
        if self.granted_at is None and pod.evicted:
            self.granted_at = position
        if gone or pod.terminating:
            self.leaves_at, self.leaves_ns = position, at_ns
        else:
            self.pod, self.body = pod, change.body


@dataclass(frozen=True, slots=True)
class Evicted:
    """A granted eviction; ``leaves`` and ``granted`` count the changes before the pod leaves, and the grant."""

    entry: AuditEntry
    pod: Pod
    body: JsonObject
    leaves: int
    granted: int

    @property
    def by_scheduler(self) -> bool:
        """Whether the scheduler has asked for it, and not a user who drains a node."""
        return self.entry.user.endswith(SCHEDULER)


def _find_evicted(bearers: Mapping[str, _Life], entry: AuditEntry) -> _Life | None:
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


@dataclass(frozen=True, slots=True)
class Room:
    """What a node can give, and what it could give until just now."""

    amounts: Resources
    former: Resources
    since_ns: int


@dataclass(slots=True)
class Occupancy:
    """The nodes and pods at one moment of the history, and what pods take of each node."""

    rooms: dict[str, Room] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    seen_ns: dict[str, int] = field(default_factory=dict)
    on_node: dict[str, dict[str, Pod]] = field(default_factory=lambda: defaultdict(dict))
    taken: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def take(self, change: Change, pod: Pod | None) -> Pod | None:
        """Take in the next change, and return its pod as it was before."""
        if change.kind == "Node":
            before = self.rooms.pop(change.name, None)
            if change.verb is not Verb.DELETED:
                amounts = read_node(change.body).room
                if before is None or before.amounts != amounts:
                    before = Room(amounts, before.amounts if before else NOTHING, change.receipt.monotonic_ns)
                self.rooms[change.name] = before
        if pod is None:
            return None
        known = self.pods.pop(pod.uid, None)
        if known is not None and known.takes_room:
            self.taken[known.node].subtract(known.requests)
            del self.on_node[known.node][pod.uid]
        if change.verb is Verb.DELETED:
            self.seen_ns.pop(pod.uid, None)
            return known
        self.pods[pod.uid] = pod
        self.seen_ns.setdefault(pod.uid, change.receipt.monotonic_ns)
        if pod.takes_room:
            self.taken[pod.node].update(pod.requests)
            self.on_node[pod.node][pod.uid] = pod
        return known
