"""What the page knows of a cluster: tables of numbers and of the names they stand for.

A change becomes a message for the browsers that look on, in which only what is new has a name. Rows are given to pods
as they come, and again when nothing is known any more of who had one.
"""

import re
from collections.abc import Collection, Hashable, Iterable
from itertools import islice
from typing import Any, TypeVar

from stowage_testbed.amounts.resources import Resources
from stowage_testbed.live.history import GONE, NO_POD, PlanLog, Table, pack, see_plan
from stowage_testbed.observe.change import Change, Verb
from stowage_testbed.observe.device_book import DeviceBook
from stowage_testbed.observe.device_claims import Claim
from stowage_testbed.observe.node import read_node, ready_of
from stowage_testbed.observe.pod import WORKLOAD_LABEL, Pod, read_pod
from stowage_testbed.observe.raw_body import decode
from stowage_testbed.observe.source import DEVICE_SOURCES, RESOURCE_CLAIMS
from stowage_testbed.observe.watches import Arrival, Broken, Interrupted, Relisted, Resumed

T = TypeVar("T", bound=Hashable)

NODE, POD, PLAN = "Node", "Pod", "PackingPlan"
CLAIM = RESOURCE_CLAIMS.kind
DEVICES = {source.kind: "resource.k8s.io" for source in DEVICE_SOURCES}
SHOWN = {**DEVICES, NODE: "", POD: "", PLAN: "stowage.dev"}  # The kinds that are watched, with their groups
NONE = -1
MOST_ENTRIES = 400_000  # Changes of pods that are kept: more than an hour of a hundred a second

MOST_WORDS = 20_000  # Different messages that are kept whole
_NUMBER = re.compile(r"\d+")
_ORDINAL = re.compile(r"-\d+$")

ZONE_LABEL = "topology.kubernetes.io/zone"
NOT_TRIED = "not tried by a scheduler yet"
NO_CLAIMS = "its resource claims are not there yet; see the events of the pod"

_NAMES = (WORKLOAD_LABEL, "app.kubernetes.io/name", "app")
"""Labels that say what a pod without a controller belongs to, the best first."""

WAITING, PLACED, ENDING = 1, 2, 3
"""Where a pod is in its life, unless it is `GONE`; one that ends keeps its room until it has gone."""


NodeKind = tuple[str, tuple[str, ...], Resources, str]
"""What equal nodes have in common: zone, what keeps pods away, room, and what is wrong with devices.

In the order in which all pages read it.
"""

PodKind = tuple[str, int, Resources, str]
"""What the replicas of one workload have in common: its name, priority, requests and namespace, in that order too."""


class Words(dict[T, int]):
    """Values by a number that each gets when it is first seen."""

    told = 0

    def number_of(self, value: T) -> int:
        """Return the value's number."""
        return self.setdefault(value, len(self))

    def take_new(self) -> list[T]:
        """Return the values that came since the last call, in the order of their numbers."""
        told, self.told = self.told, len(self)
        return list(islice(self, told, None))


class LiveState:
    """Nodes, pods and plans as last seen, and as they were, over the last ``most`` changes of pods."""

    def __init__(self, most: int = MOST_ENTRIES) -> None:
        self._most = most
        self._nodes, self._pods = Table((NONE,)), Table(NO_POD)
        self._plans = PlanLog()
        self._devices = DeviceBook()
        self._without_devices: dict[str, NodeKind] = {}
        self._asking: dict[str, Pod] = {}
        self._users: dict[str, frozenset[str]] = {}
        self._stale_nodes: dict[str, None] = {}
        self._stale_pods: dict[str, None] = {}
        self._node_names: Words[str] = Words()
        self._node_kinds: Words[NodeKind] = Words()
        self._pod_kinds: Words[PodKind] = Words()
        self._whys: Words[str] = Words()
        self._names: list[str] = []
        self._rows: dict[str, int] = {}
        self._free: set[int] = set()
        self._named: dict[int, str] = {}
        self._lost: dict[str, str] = {}
        self._said_lost = ""
        self._since_ms = self._at_ms = 0
        self._sequence = 0

    def begin(self, listed: Iterable[Change]) -> None:
        """Take what is there when the watch begins."""
        for change in listed:
            self.take(change)
        self._count_devices()
        self._nodes.begin()
        self._pods.begin()
        self._named.clear()
        self._new_words()
        self._plans.take_new(0)

    def take(self, arrival: Arrival) -> None:
        """Take what a watch reports."""
        match arrival:
            case Change():
                self._take_change(arrival)
            case Relisted(source, listed, _):
                self._drop_missing(source.kind, listed)
                for change in listed:
                    self._take_change(change)
            case Interrupted(source, _, why):
                self._lost[source.kind] = why
            case Resumed(source, _):
                self._lost.pop(source.kind, None)
            case Broken(error):
                self._lost["watch"] = str(error)

    def _take_change(self, change: Change) -> None:
        gone = change.verb is Verb.DELETED
        if change.kind == NODE:
            self._without_devices.pop(change.name, None)
            if gone:
                self._nodes.put(self._node_row(change.name), NONE)
                return
            node = read_node(change.body)
            notes = ("not ready",) * (ready_of(change.body) != "True") + ("cordoned",) * node.unschedulable
            self._without_devices[change.name] = node.labels.get(ZONE_LABEL, ""), notes, node.room, ""
            self._stale_nodes[change.name] = None
            self._node_row(change.name)
        elif change.kind == POD:
            self._take_pod(change, gone=gone)
        elif change.kind == PLAN:
            self._plans.take(change.name, None if gone else see_plan(change.body))
        elif change.kind in DEVICES:
            self._devices.take(change)
            if change.kind == CLAIM:
                self._note_users(change.uid, frozenset() if gone else decode(change.body, Claim).users)
            else:
                self._note_devices()

    def _note_devices(self) -> None:
        self._stale_nodes |= dict.fromkeys(self._without_devices)
        self._stale_pods |= dict.fromkeys(self._asking)

    def _note_users(self, claim: str, users: frozenset[str]) -> None:
        self._stale_pods |= dict.fromkeys(sorted(users | self._users.pop(claim, frozenset())))
        if users:
            self._users[claim] = users

    def _count_devices(self) -> None:
        """Take what nodes have of devices, and pods hold: once for all that has changed."""
        for name in self._stale_nodes:
            if name in self._without_devices:
                self._put_node(name)
        for uid in self._stale_pods:
            if pod := self._asking.get(uid):
                self._put_pod(pod)
        self._stale_nodes.clear()
        self._stale_pods.clear()

    def _put_node(self, name: str) -> None:
        zone, notes, room, _ = self._without_devices[name]
        devices, tainted = self._devices.room(name), self._devices.count_tainted(name)
        words = f"{tainted} devices have a taint" if tainted > 1 else "1 device has a taint"
        kind = (zone, notes, room + devices, words if tainted else "")
        self._nodes.put(self._node_row(name), self._node_kinds.number_of(kind))

    def _drop_missing(self, kind: str, listed: Collection[Change]) -> None:
        """Take out what a new list of a kind lacks."""
        names = {change.name for change in listed}
        if kind == POD:
            for uid in self._rows.keys() - {change.uid for change in listed}:
                self._end_pod(uid)
        elif kind == NODE:
            for row, name in enumerate(self._node_names):
                if name not in names:
                    self._without_devices.pop(name, None)
                    self._nodes.put(row, NONE)
        elif kind in DEVICES:
            there = {change.uid for change in listed}
            self._devices.keep_only(kind, there)
            for claim in self._users.keys() - there if kind == CLAIM else ():
                self._note_users(claim, frozenset())
            self._note_devices()
        else:
            self._plans.keep_only(names)

    def name_lost(self) -> str:
        """Return which watches are interrupted, and why; empty if none is."""
        return "; ".join(f"{kind}: {why}" for kind, why in self._lost.items())

    def flush(self, at_ms: int) -> dict[str, Any] | None:
        """Return what changed since the last call as a message; None if nothing did."""
        self._at_ms = at_ms
        self._count_devices()
        plans, lost = self._plans.take_new(at_ms), self.name_lost()
        if not (self._nodes.changed or self._pods.changed or plans or lost != self._said_lost):
            return None
        self._sequence += 1
        self._said_lost = lost
        message = {
            "seq": self._sequence,
            "t": at_ms,
            "nodes": self._nodes.take_changes(at_ms),
            "pods": self._pods.take_changes(at_ms),
            "names": list(self._named.items()),
            "plans": plans,
            "lost": lost,
            **self._new_words(),
        }
        self._named.clear()
        if len(self._pods) > self._most:
            self._since_ms = self._pods.oldest_quarter_ms()
            self._pods.fold(self._since_ms)
            self._nodes.fold(self._since_ms)
            self._free |= self._pods.unused_rows() - set(self._rows.values())
        return {key: value for key, value in message.items() if value or key == "lost"}

    def now(self) -> dict[str, Any]:
        """Return everything as it is now, packed."""
        return {
            "seq": self._sequence,
            "t": self._at_ms,
            "entries": [self._nodes.count(), self._pods.count()],
            "nodeNames": list(self._node_names),
            "nodeKinds": list(self._node_kinds),
            "podKinds": list(self._pod_kinds),
            "whys": list(self._whys),
            "nodes": pack(self._nodes.now),
            "podNames": self._names,
            "pods": pack(self._pods.now),
            "plans": self._plans.now(),
            "lost": self._said_lost,
        }

    def past(self, until: tuple[int, int] | None = None) -> dict[str, Any]:
        """Return the beginning and the changes since, packed; nothing that came after ``entries`` were ``until``."""
        nodes, pods = until or (self._nodes.count(), self._pods.count())
        (first_nodes, node_log), (first_pods, pod_log) = self._nodes.packed(nodes), self._pods.packed(pods)
        return {
            "since": self._since_ms,
            "nodes": first_nodes,
            "pods": first_pods,
            "nodeLog": node_log,
            "podLog": pod_log,
            "plans": self._plans.past(),
        }

    def _take_pod(self, change: Change, *, gone: bool) -> None:
        pod = read_pod(change.body)
        if gone or pod.finished or (pod.terminating and not pod.bound):
            self._end_pod(pod.uid)
            return
        row = self._rows.get(pod.uid)
        if row is None:
            if self._free:
                row = self._free.pop()
                self._names[row] = pod.key
            else:
                row = len(self._names)
                self._names.append(pod.key)
            self._rows[pod.uid] = row
            self._named[row] = pod.key
        # Extended resources have a domain, and may be devices.
        if pod.claims or any("/" in name for name in pod.requests):
            self._asking[pod.uid] = pod
            self._stale_pods[pod.uid] = None
            self._pods.reach(row)
        else:
            self._put_pod(pod)

    def _put_pod(self, pod: Pod) -> None:
        # The name of what brings the pod, or what it shares with its like.
        labelled = (pod.labels[label] for label in _NAMES if pod.labels.get(label))
        workload = pod.top[1] or next(labelled, _ORDINAL.sub("", pod.name))
        asking = pod.uid in self._asking
        requests = self._devices.requests_of(pod) if asking else pod.requests
        kind = self._pod_kinds.number_of((workload, pod.priority, requests, pod.namespace))
        node, why = self._node_row(pod.node) if pod.node else NONE, NONE
        phase = ENDING if pod.terminating else PLACED if pod.bound else WAITING
        if phase == WAITING:
            said = pod.waiting_message or pod.waiting_reason or (NO_CLAIMS if pod.lacks_claims else NOT_TRIED)
        else:
            said = ", ".join(one.in_words() for one in self._devices.allocated(pod.uid)) if asking else ""
        if said:
            # Of very many different texts further ones go without their numbers.
            why = self._whys.number_of(said if len(self._whys) < MOST_WORDS else _NUMBER.sub("n", said))
        self._pods.put(self._rows[pod.uid], kind, node, phase, why)

    def _end_pod(self, uid: str) -> None:
        row = self._rows.pop(uid, None)
        self._asking.pop(uid, None)
        if row is not None:
            kind, node, *_ = self._pods.get(row)
            self._pods.put(row, kind, node, GONE, NONE)

    def _node_row(self, name: str) -> int:
        row = self._node_names.number_of(name)
        self._nodes.reach(row)
        return row

    def _new_words(self) -> dict[str, Any]:
        return {
            "nodeNames": self._node_names.take_new(),
            "nodeKinds": self._node_kinds.take_new(),
            "podKinds": self._pod_kinds.take_new(),
            "whys": self._whys.take_new(),
        }
