"""What the page knows of a cluster: tables of numbers and of the names they stand for.

A change becomes a message for the browsers that look on, in which only what is new has a name. Rows are given to pods
as they come, and again when nothing is known any more of who had one.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Hashable, Iterable
from typing import Any, Generic, TypeVar

from stowage_testbed.amounts.resources import Resources
from stowage_testbed.live.history import GONE, MOST_ENTRIES, NO_POD, POD_COLUMNS, History, PlanLog, pack, see_plan
from stowage_testbed.observe.change import Change, JsonObject, Verb
from stowage_testbed.observe.node import read_node, ready_of
from stowage_testbed.observe.pod import WORKLOAD_LABEL, Pod, read_pod

T = TypeVar("T", bound=Hashable)

NODE, POD, PLAN = "Node", "Pod", "PackingPlan"
SHOWN = {NODE: "", POD: "", PLAN: "stowage.dev"}  # The kinds that are watched, with their groups
NONE = -1

MOST_WORDS = 20_000  # Different messages that are kept whole
_NUMBER = re.compile(r"\d+")
_ORDINAL = re.compile(r"-\d+$")

ZONE_LABEL = "topology.kubernetes.io/zone"
NOT_TRIED = "not tried by a scheduler yet"

_NAMES = (WORKLOAD_LABEL, "app.kubernetes.io/name", "app")
"""Labels that say what a pod without a controller belongs to, the best first."""

WAITING, PLACED, ENDING = 1, 2, 3
"""Where a pod is in its life, unless it is `GONE`; one that ends keeps its room until it has gone."""


NodeKind = tuple[str, tuple[str, ...], Resources]
"""What equal nodes have in common: zone, what keeps pods away, and room; in the order in which all pages read it."""

PodKind = tuple[str, int, Resources, str]
"""What the replicas of one workload have in common: its name, priority, requests and namespace, in that order too."""


class Words(Generic[T]):
    """Values by a number that each gets when it is first seen."""

    def __init__(self) -> None:
        self._numbers: dict[T, int] = {}
        self._said = 0

    def __len__(self) -> int:
        return len(self._numbers)

    def number_of(self, value: T) -> int:
        """Return the value's number."""
        return self._numbers.setdefault(value, len(self._numbers))

    def all(self) -> list[T]:
        """Return all values in the order of their numbers."""
        return list(self._numbers)

    def take_new(self) -> list[T]:
        """Return the values that came since the last call."""
        if self._said == len(self._numbers):
            return []
        said, self._said = self._said, len(self._numbers)
        return list(self._numbers)[said:]


class LiveState:
    """Nodes, pods and plans as last seen, and as they were, over the last ``most`` changes of pods."""

    def __init__(self, most: int = MOST_ENTRIES) -> None:
        self.history = History(most)
        self.plans = PlanLog()
        self._nodes: Words[str] = Words()
        self._node_kinds: Words[NodeKind] = Words()
        self._pod_kinds: Words[PodKind] = Words()
        self._whys: Words[str] = Words()
        self._of_node = array("i")
        self._names: list[str] = []
        self._rows: dict[str, int] = {}
        self._free: set[int] = set()
        self._pods = array("i")
        self._changed_nodes: dict[int, int] = {}
        self._changed_pods: dict[int, tuple[int, int, int, int]] = {}
        self._named: dict[int, str] = {}
        self._lost: dict[str, str] = {}
        self._said_lost = ""
        self.at_ms = 0
        self.sequence = 0

    def begin(self, listed: Iterable[Change]) -> None:
        """Take what is there when the watch begins."""
        for change in listed:
            self.take(change)
        self._forget_changes()
        self.plans.take_new(0)
        self.history.begin(self._of_node, self._pods)

    def take(self, change: Change) -> None:
        """Take in one change."""
        gone = change.verb is Verb.DELETED
        if change.kind == NODE:
            kind = NONE if gone else self._node_kinds.number_of(_read_node_kind(change.body))
            self._put_node(self._node_row(change.name), kind)
        elif change.kind == POD:
            self._take_pod(change, gone=gone)
        elif change.kind == PLAN:
            self.plans.take(change.name, None if gone else see_plan(change.body))

    def drop_missing(self, kind: str, listed: Iterable[Change]) -> None:
        """Take out what a new list of a kind lacks."""
        changes = list(listed)
        if kind == POD:
            present = {change.uid for change in changes}
            for uid in self._rows.keys() - present:
                self._end_pod(uid)
        elif kind == NODE:
            named = {change.name for change in changes}
            for row, name in enumerate(self._nodes.all()):
                if name not in named:
                    self._put_node(row, NONE)
        else:
            self.plans.keep_only({change.name for change in changes})

    def lose(self, kind: str, why: str) -> None:
        """Note that a watch is interrupted, or with an empty reason that it goes on."""
        self._lost[kind] = why

    def name_lost(self) -> str:
        """Return which watches are interrupted, and why; empty if none is."""
        return "; ".join(f"{kind}: {why}" for kind, why in self._lost.items() if why)

    def flush(self, at_ms: int) -> dict[str, Any] | None:
        """Return what changed since the last call as a message; None if nothing did."""
        self.at_ms = at_ms
        plans = self.plans.take_new(at_ms)
        lost = self.name_lost()
        if not (self._changed_nodes or self._changed_pods or plans or lost != self._said_lost):
            return None
        self.sequence += 1
        message = {
            "seq": self.sequence,
            "t": at_ms,
            "nodes": [x for pair in self._changed_nodes.items() for x in pair],
            "pods": [x for row, of in self._changed_pods.items() for x in (row, *of)],
            "names": list(self._named.items()),
            "plans": plans,
            "lost": lost,
            **self._new_words(),
        }
        self._said_lost = lost
        free = self.history.append(at_ms, self._changed_nodes, self._changed_pods)
        self._free |= free - set(self._rows.values())
        self._forget_changes()
        self.plans.forget_before(self.history.since_ms)
        return {key: value for key, value in message.items() if value or key == "lost"}

    def now(self) -> dict[str, Any]:
        """Return everything as it is now, packed."""
        nodes, pods = self.history.entries()
        return {
            "seq": self.sequence,
            "t": self.at_ms,
            "entries": [nodes, pods],
            "nodeNames": self._nodes.all(),
            "nodeKinds": self._node_kinds.all(),
            "podKinds": self._pod_kinds.all(),
            "whys": self._whys.all(),
            "nodes": pack(self._of_node),
            "podNames": self._names,
            "pods": pack(self._pods),
            "plans": self.plans.now(),
            "lost": self._said_lost,
        }

    def past(self, until: tuple[int, int] | None = None) -> dict[str, Any]:
        """Return what was before, packed."""
        return {**self.history.past(until), "plans": self.plans.past()}

    def _take_pod(self, change: Change, *, gone: bool) -> None:
        pod = None if gone else read_pod(change.body)
        phase = GONE if pod is None else _phase_of(pod)
        if pod is None or phase == GONE:
            self._end_pod(change.uid)
            return
        row = self._rows.get(change.uid)
        if row is None:
            name = f"{change.namespace}/{change.name}"
            if self._free:
                row = self._free.pop()
                self._names[row] = name
            else:
                row = len(self._names)
                self._names.append(name)
                self._pods.extend(NO_POD)
            self._rows[change.uid] = row
            self._named[row] = name
        kind = self._pod_kinds.number_of((_name_workload(pod), pod.priority, pod.requests, pod.namespace))
        node = self._node_row(pod.node) if pod.node else NONE
        why = NONE
        if phase == WAITING:
            said = pod.waiting_message or pod.waiting_reason or NOT_TRIED
            # Of very many different messages further ones go without their numbers.
            why = self._whys.number_of(said if len(self._whys) < MOST_WORDS else _NUMBER.sub("n", said))
        self._put_pod(row, (kind, node, phase, why))

    def _end_pod(self, uid: str) -> None:
        row = self._rows.pop(uid, None)
        if row is not None:
            kind, node, *_ = self._pods[row * POD_COLUMNS : (row + 1) * POD_COLUMNS]
            self._put_pod(row, (kind, node, GONE, NONE))

    def _put_pod(self, row: int, columns: tuple[int, int, int, int]) -> None:
        at, new = row * POD_COLUMNS, array("i", columns)
        if self._pods[at : at + POD_COLUMNS] != new:
            self._pods[at : at + POD_COLUMNS] = new
            self._changed_pods[row] = columns

    def _node_row(self, name: str) -> int:
        row = self._nodes.number_of(name)
        if row == len(self._of_node):
            self._of_node.append(NONE)
        return row

    def _put_node(self, row: int, kind: int) -> None:
        if self._of_node[row] != kind:
            self._of_node[row] = kind
            self._changed_nodes[row] = kind

    def _new_words(self) -> dict[str, Any]:
        return {
            "nodeNames": self._nodes.take_new(),
            "nodeKinds": self._node_kinds.take_new(),
            "podKinds": self._pod_kinds.take_new(),
            "whys": self._whys.take_new(),
        }

    def _forget_changes(self) -> None:
        self._new_words()
        self._changed_nodes, self._changed_pods, self._named = {}, {}, {}


def _read_node_kind(body: JsonObject) -> NodeKind:
    node = read_node(body)
    notes = ("not ready",) * (ready_of(body) != "True") + ("cordoned",) * node.unschedulable
    return node.labels.get(ZONE_LABEL, ""), notes, node.room


def _phase_of(pod: Pod) -> int:
    if pod.finished:
        return GONE
    if pod.terminating:
        return ENDING if pod.bound else GONE
    return PLACED if pod.bound else WAITING


def _name_workload(pod: Pod) -> str:
    """Return the name of what brings the pod, or what it shares with its like."""
    named = (pod.labels[label] for label in _NAMES if pod.labels.get(label))
    return pod.top[1] or next(named, _ORDINAL.sub("", pod.name))
