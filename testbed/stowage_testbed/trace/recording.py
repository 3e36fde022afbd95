"""From what watches report to the lines of a trace, in the order of their times.

Times go by the receipt, unless the watch was behind. The server's own stamps have whole seconds, and its clock may be
another. A receipt is finer, but late where a connection or the server stood still.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from heapq import heappop, heappush
from itertools import count

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.kinds import Kind
from stowage_testbed.hostpods import HOST_LABEL
from stowage_testbed.observe.change import NS_PER_S, Change, JsonObject, Receipt, Verb
from stowage_testbed.observe.device_claims import Claim, claims_of
from stowage_testbed.observe.node import Node, read_node
from stowage_testbed.observe.pod import Pod, read_pod
from stowage_testbed.observe.raw_body import decode
from stowage_testbed.observe.watches import Arrival, Interrupted, Relisted, Resumed
from stowage_testbed.trace.format import (
    How,
    Line,
    NodeGone,
    NodeSeen,
    ObjectGone,
    ObjectSeen,
    Owner,
    PodBound,
    PodCame,
    PodDevice,
    PodEnded,
    PodTemplate,
    Scaled,
    Template,
    WatchLost,
)
from stowage_testbed.trace.reducing import CONTROLLERS, identify, is_of_host, reduce_object, reduce_pod

NAMESPACE, NODE, POD, CLAIM = "Namespace", "Node", "Pod", "ResourceClaim"
HOLD_S = 2.0  # How long a line waits for others that belong before it: watches take turns
LONGEST_HOLD_S = 60.0  # How long it waits while a watch is interrupted, whose news come late
NOTED_S = 1.0  # From here on an interruption is noted: shorter ones change nothing
_BUILT_IN = "system-"  # How the priority classes begin that every cluster has
Key = tuple[str, str, str]  # Kind, namespace and name
REMEMBERED = 200  # Stamps from which the difference of the clocks is learned
STAMP_S = 1.0  # A stamp's resolution: it is cut off
SLACK_S = 0.5  # How much later than usual a receipt may be before it counts as late

_HOW: Mapping[str, How] = {
    "PreemptionByScheduler": "preempted",
    "EvictionByEvictionAPI": "evicted",
    "DeletionByTaintManager": "evicted",
    "DeletionByDeviceTaintManager": "evicted",
    "TerminationByKubelet": "evicted",
}
"""How a pod ended, by the reason of its condition `DisruptionTarget`."""


@dataclass(slots=True)
class _PodLife:
    """A pod that has not gone; times are the trace's."""

    uid: str
    came: float
    bound: float | None = None
    runs_since: float | None = None
    ended: bool = False
    claims: Mapping[str, str] = field(default_factory=dict)
    """What it calls its claims, by their names."""
    devices: list[PodDevice] = field(default_factory=list)
    """Those of its line, which waits for news of claims: they come by another watch."""


class Recording:
    """Turns what watches report into lines, and gives them to ``write`` in order, times counted from ``began``."""

    def __init__(
        self, began: Receipt, kinds: Mapping[str, Kind], write: Callable[[Line], None], namespaces: Collection[str] = ()
    ) -> None:
        self._dating = _Dating(began)
        self._kinds = kinds
        self._write = write
        self._namespaces = frozenset(namespaces)
        self._objects: dict[Key, Node | Manifest | _PodLife] = {}
        self._templates: dict[str, PodTemplate] = {}
        self._allocated: dict[Key, Claim] = {}
        self._users: dict[str, _PodLife] = {}
        self._held: list[tuple[float, int, Line]] = []
        self._number = count()
        self._written: set[str] = set()
        self._lost: dict[str, Interrupted] = {}
        self._losses: list[Interrupted] = []

    def begin(self, listed: Iterable[Change]) -> None:
        """Take what is there at the beginning, each kind in the order of creation."""
        for change in listed:
            found = list(self._see(change, first=True))
            # The namespaces of the beginning stand in the header.
            self._hold(found if change.kind != NAMESPACE else ())

    def take(self, arrival: Arrival) -> None:
        """Take what a watch reports."""
        match arrival:
            case Change(kind, Verb.DELETED, receipt, body):
                key = self._key(arrival)
                life = self._objects.get(key)
                if isinstance(life, _PodLife):
                    self._hold(self._follow(key, life, arrival, first=False))
                self._hold(self._go(key, receipt, read_pod(body) if kind == POD else None))
            case Change():
                self._hold(self._see(arrival))
            case Relisted(source, listed, receipt):
                # What the list lacks went unseen.
                kind, keys = self._kinds[source.kind].name, {self._key(one) for one in listed}
                for key in [one for one in self._objects if one[0] == kind and one not in keys]:
                    self._hold(self._go(key, receipt))
                for one in listed:
                    self._hold(self._see(one))
            case Interrupted(source):
                self._lost[source.kind] = arrival
                self._losses.append(arrival)
            case Resumed(source, receipt):
                self._lost.pop(source.kind, None)
                self._note_loss(receipt)

    def release(self, now: Receipt) -> None:
        """Write the lines before which nothing else can come any more."""
        t = self._dating.at(now)
        hold_s = LONGEST_HOLD_S if self._lost else HOLD_S
        while self._held and self._held[0][0] <= t - hold_s:
            self._write_next()

    def finish(self) -> None:
        """Write what is left."""
        while self._held:
            self._write_next()

    def _key(self, change: Change) -> Key:
        return self._kinds[change.kind].name, change.namespace, change.name

    def _see(self, change: Change, *, first: bool = False) -> Iterator[Line]:
        namespace = change.name if change.kind == NAMESPACE else change.namespace
        if self._namespaces and namespace and namespace not in self._namespaces:
            return
        key, body = self._key(change), change.body
        if change.kind == POD:
            yield from self._see_pod(key, change, first=first)
            return
        t, before = 0.0 if first else self._dating.at(change.receipt), self._objects.get(key)
        if key[0] == CLAIM:
            self._note_allocation(key, decode(body, Claim))
        if change.kind == NODE:
            node = read_node(body)
            # The node of a testbed that is no fake one: the scheduler runs there.
            if node != before and HOST_LABEL not in node.labels:
                self._objects[key] = node
                yield NodeSeen(t=t, name=key[2], node=node)
        elif before is not None or _is_recorded(key[0], body):
            # What is listed does not say what it is.
            now = reduce_object({**body, "apiVersion": self._kinds[change.kind].api_version, "kind": key[0]})
            self._objects[key] = now
            if now != before:
                replicas = _read_new_replicas(before, now) if isinstance(before, dict) else None
                if replicas is None:
                    yield ObjectSeen(t=t, object=now)
                else:
                    yield Scaled(t=t, kind=key[0], namespace=key[1], name=key[2], replicas=replicas)

    def _see_pod(self, key: Key, change: Change, *, first: bool) -> Iterator[Line]:
        """Take a pod as it is now; with ``first``, as it was at the beginning, where one that is done is left out."""
        body, pod = change.body, read_pod(change.body)
        if is_of_host(body["spec"]):
            return
        life = self._objects.get(key)
        if isinstance(life, _PodLife) and life.uid != pod.uid:
            yield from self._go(key, change.receipt)
            life = None
        if not isinstance(life, _PodLife):
            done = first and pod.finished
            came = 0.0 if first else self._dating.date(change.receipt, body["metadata"].get("creationTimestamp"))
            life = self._objects[key] = _PodLife(pod.uid, came, ended=done)
            if done:
                return
            owner = Owner(*pod.top) if pod.owner_kind in CONTROLLERS else None
            template, salt = reduce_pod(body), 0
            while self._templates.setdefault(of := identify(template, salt), template) != template:
                salt += 1
            yield PodCame(t=came, namespace=pod.namespace, name=pod.name, of=of, owner=owner)
        yield from self._follow(key, life, change, first=first)

    def _follow(self, key: Key, life: _PodLife, change: Change, *, first: bool) -> Iterator[Line]:
        pod, status = read_pod(change.body), change.body.get("status") or {}
        if pod.node and life.bound is None:
            conditions = {(one["type"], one["status"]): one for one in status.get("conditions") or ()}
            stamp = conditions.get(("PodScheduled", "True"), {}).get("lastTransitionTime")
            bound = 0.0 if first else self._dating.date(change.receipt, stamp)
            life.bound = max(bound, life.came)
            life.claims = claims_of(change.body)
            for claim in life.claims:
                self._note_devices(life, self._allocated.get((CLAIM, pod.namespace, claim)))
            self._users[pod.uid] = life
            yield PodBound(t=life.bound, namespace=pod.namespace, name=pod.name, node=pod.node, devices=life.devices)
        if pod.phase == "Running" and life.runs_since is None:
            started = status.get("startTime") if first else None
            life.runs_since = self._dating.at_stamp(started) if started else self._dating.at(change.receipt)
        if pod.finished and not life.ended:
            if life.runs_since is None and pod.phase == "Succeeded":
                life.runs_since = life.bound
            how = _HOW.get(pod.disruption, "evicted" if status.get("reason") == "Evicted" else "failed")
            yield self._make_end(key, life, change.receipt, "succeeded" if pod.phase == "Succeeded" else how)
            life.ended = True

    def _note_allocation(self, key: Key, claim: Claim) -> None:
        """Note what is allocated to a claim, for pods that are bound already and for those that will be."""
        self._allocated.pop(key, None)
        if claim.status.allocation:
            self._allocated[key] = claim
            for uid in claim.users & self._users.keys():
                self._note_devices(self._users[uid], claim)

    @staticmethod
    def _note_devices(life: _PodLife, claim: Claim | None) -> None:
        """Add what is allocated to a claim to the line of a pod that uses it, once."""
        name = life.claims.get(claim.metadata.name) if claim else None
        if claim and life.uid in claim.users and name is not None and all(one.claim != name for one in life.devices):
            life.devices += [
                PodDevice(name, one.request, one.driver, one.pool, one.device, one.consumed_capacity)
                for one in claim.allocated()
            ]

    def _go(self, key: Key, receipt: Receipt, pod: Pod | None = None) -> Iterator[Line]:
        """Yield the end of an object, of a pod with what was last known of it."""
        gone, t = self._objects.pop(key, None), self._dating.at(receipt)
        kind, namespace, name = key
        self._allocated.pop(key, None)
        if isinstance(gone, _PodLife):
            self._users.pop(gone.uid, None)
            if not gone.ended:
                yield self._make_end(key, gone, receipt, _HOW.get(pod.disruption if pod else "", "deleted"))
        elif gone is not None:
            node = kind == NODE
            yield NodeGone(t=t, name=name) if node else ObjectGone(t=t, kind=kind, namespace=namespace, name=name)

    def _make_end(self, key: Key, life: _PodLife, receipt: Receipt, how: How) -> PodEnded:
        t = max(self._dating.at(receipt), life.bound or life.came)
        ran_s = None if life.runs_since is None else round(max(0.0, t - life.runs_since), 3)
        return PodEnded(t=t, namespace=key[1], name=key[2], how=how, ran_s=ran_s)

    def _note_loss(self, receipt: Receipt) -> None:
        """Note an interruption when all watches are back."""
        if self._lost or not self._losses:
            return
        first = min(self._losses, key=lambda one: one.receipt)
        self._losses.clear()
        if receipt.seconds_since(first.receipt) >= NOTED_S:
            t, since = self._dating.at(receipt), self._dating.at(first.receipt)
            self._hold([WatchLost(t=t, from_=round(since, 3), why=first.why)])

    def _hold(self, lines: Iterable[Line]) -> None:
        for line in lines:
            heappush(self._held, (line.t, next(self._number), line))

    def _write_next(self) -> None:
        t, _, line = heappop(self._held)
        if isinstance(line, PodCame) and line.of not in self._written:
            self._written.add(line.of)
            self._write(Template(t=t, id=line.of, template=self._templates[line.of]))
        self._write(line)


def _is_recorded(kind: str, body: JsonObject) -> bool:
    """Return whether an object, which is new, is one that a replay has to make."""
    metadata, spec = body["metadata"], body.get("spec") or {}
    match kind:
        case "PriorityClass":
            return not str(metadata["name"]).startswith(_BUILT_IN)
        case "Service":
            return bool(spec.get("selector"))
        case "Job":
            conditions = (body.get("status") or {}).get("conditions") or ()
            if any(one["type"] in {"Complete", "Failed"} and one["status"] == "True" for one in conditions):
                return False
    if is_of_host((spec.get("template") or {}).get("spec") or {}):
        return False
    # Who deletes a StatefulSet may have its claims go as well: it owns them then.
    makers = {POD} if kind == "PersistentVolumeClaim" else {*CONTROLLERS, POD}
    return not any(one["kind"] in makers for one in metadata.get("ownerReferences") or ())


def _read_new_replicas(before: Manifest, now: Manifest) -> int | None:
    """Return the replicas of a controller of which nothing else has changed."""
    replicas = (now.get("spec") or {}).get("replicas")
    scaled = {**before, "spec": {**(before.get("spec") or {}), "replicas": replicas}}
    return int(replicas) if now["kind"] in CONTROLLERS and replicas is not None and scaled == now else None


class _Dating:
    """Turns receipts and stamps into times of a trace, whose time 0 is ``began``."""

    def __init__(self, began: Receipt) -> None:
        self._began = began
        self._ages: deque[float] = deque(maxlen=REMEMBERED)

    def at(self, receipt: Receipt) -> float:
        """Return the time of a receipt; none is before the beginning."""
        return max(0.0, receipt.seconds_since(self._began))

    def at_stamp(self, stamp: str) -> float:
        """Return the time of a stamp, below 0 if it was before the beginning."""
        return datetime.fromisoformat(stamp).timestamp() - self._began.wall_ns / NS_PER_S

    def date(self, receipt: Receipt, stamp: str | None) -> float:
        """Return when something happened that is reported as soon as it is stamped."""
        if stamp is None:
            return self.at(receipt)
        stamped = self.at_stamp(stamp)
        age = receipt.seconds_since(self._began) - stamped
        # The least age is the difference of the clocks and the way of the news.
        least = min(self._ages, default=age)
        if age <= least + STAMP_S + SLACK_S:
            self._ages.append(age)
            return self.at(receipt)
        return max(0.0, stamped + least + STAMP_S / 2)
