"""From what watches report to the lines of a trace, in the order of their times."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from heapq import heappop, heappush
from itertools import count

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.kinds import Kind
from stowage_testbed.hostpods.node import HOST_LABEL
from stowage_testbed.observe.change import Change, JsonObject, Verb, name_of, namespace_of
from stowage_testbed.observe.receipt import Receipt
from stowage_testbed.observe.watches import Arrival, Interrupted, Relisted, Resumed
from stowage_testbed.trace.format import (
    Line,
    Node,
    NodeGone,
    NodeSeen,
    ObjectGone,
    ObjectSeen,
    PodCame,
    Scaled,
    Template,
    WatchLost,
)
from stowage_testbed.trace.recording_pods import Dating, PodRecording
from stowage_testbed.trace.reducing import CONTROLLERS, is_of_host, reduce_node, reduce_object

NAMESPACE, NODE, POD = "Namespace", "Node", "Pod"

HOLD_S = 2.0
"""How long a line waits for others that belong before it: watches take turns."""

LONGEST_HOLD_S = 60.0
"""How long it waits while a watch is interrupted, whose news come late."""

NOTED_S = 1.0
"""From here on an interruption is noted: shorter ones change nothing."""

_BUILT_IN = "system-"
"""How the priority classes begin that every cluster has."""

Key = tuple[str, str, str]
"""Kind, namespace and name."""


class Recording:
    """Turns what watches report into lines, and gives them to ``write`` in order.

    ``began`` is the time 0, ``kinds`` what is watched, by the kind of its source. Only what is in ``namespaces``,
    and what is in none; all without any.
    """

    def __init__(
        self, began: Receipt, kinds: Mapping[str, Kind], write: Callable[[Line], None], namespaces: Collection[str] = ()
    ) -> None:
        self._dating = Dating(began)
        self._kinds = kinds
        self._write = write
        self._namespaces = frozenset(namespaces)
        self._objects: dict[Key, Node | Manifest] = {}
        self._pods = PodRecording(self._dating)
        self._held: list[tuple[float, int, Line]] = []
        self._number = count()
        self._told: set[str] = set()
        self._lost: dict[str, Interrupted] = {}
        self._losses: list[Interrupted] = []

    def begin(self, listed: Iterable[Change]) -> None:
        """Take what is there at the beginning, each kind in the order of creation."""
        for change in listed:
            found = list(self._see(change.kind, change.body, change.receipt, first=True))
            # The namespaces of the beginning stand in the header.
            self._hold(found if change.kind != NAMESPACE else ())

    def take(self, arrival: Arrival) -> None:
        """Take what a watch reports."""
        match arrival:
            case Change(kind, Verb.DELETED, receipt, body):
                if kind == POD:
                    self._hold(self._pods.go((namespace_of(body), name_of(body)), receipt, body))
                else:
                    self._hold(self._go(self._key(kind, body), self._dating.at(receipt)))
            case Change(kind, _, receipt, body):
                self._hold(self._see(kind, body, receipt))
            case Relisted(source, listed, receipt):
                self._hold(self._keep_only(source.kind, listed, receipt))
                for one in listed:
                    self._hold(self._see(one.kind, one.body, one.receipt))
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

    def _see(self, kind: str, body: JsonObject, receipt: Receipt, *, first: bool = False) -> Iterator[Line]:
        namespace = name_of(body) if kind == NAMESPACE else namespace_of(body)
        if self._namespaces and namespace and namespace not in self._namespaces:
            return
        if kind == POD:
            yield from self._pods.see(body, receipt, first=first)
            return
        t, key = 0.0 if first else self._dating.at(receipt), self._key(kind, body)
        before = self._objects.get(key)
        if kind == NODE:
            node = reduce_node(body)
            # The node of a testbed that is no fake one: the scheduler runs there.
            if node != before and HOST_LABEL not in node.labels:
                self._objects[key] = node
                yield NodeSeen(t=t, name=key[2], node=node)
        elif before is not None or _is_recorded(key[0], body):
            # What is listed does not say what it is.
            now = reduce_object({**body, "apiVersion": self._kinds[kind].api_version, "kind": key[0]})
            self._objects[key] = now
            if now != before:
                replicas = _read_new_replicas(before, now) if isinstance(before, dict) else None
                if replicas is None:
                    yield ObjectSeen(t=t, object=now)
                else:
                    yield Scaled(t=t, kind=key[0], namespace=key[1], name=key[2], replicas=replicas)

    def _key(self, kind: str, body: JsonObject) -> Key:
        return self._kinds[kind].name, namespace_of(body), name_of(body)

    def _go(self, key: Key, t: float) -> Iterator[Line]:
        if self._objects.pop(key, None):
            kind, namespace, name = key
            yield (
                NodeGone(t=t, name=name) if kind == NODE else ObjectGone(t=t, kind=kind, namespace=namespace, name=name)
            )

    def _keep_only(self, kind: str, listed: Iterable[Change], receipt: Receipt) -> Iterator[Line]:
        """Take a list of all objects of a kind: those that it lacks went unseen."""
        if kind == POD:
            yield from self._pods.keep_only({(one.namespace, one.name) for one in listed}, receipt)
            return
        name = self._kinds[kind].name
        keys = {(name, one.namespace, one.name) for one in listed}
        for key in [one for one in self._objects if one[0] == name and one not in keys]:
            yield from self._go(key, self._dating.at(receipt))

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
        if isinstance(line, PodCame) and line.of not in self._told:
            self._told.add(line.of)
            self._write(Template(t=t, id=line.of, template=self._pods.templates[line.of]))
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
    """Return the replicas of an object of which nothing else has changed."""
    if now["kind"] not in CONTROLLERS:
        return None
    replicas = (now.get("spec") or {}).get("replicas")
    if {**before, "spec": {**(before.get("spec") or {}), "replicas": replicas}} != now:
        return None
    return None if replicas is None else int(replicas)
