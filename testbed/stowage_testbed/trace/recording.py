"""From what watches tell to the lines of a trace, in the order of their times."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from heapq import heappop, heappush
from itertools import count

from stowage_testbed.api.kinds import Kind
from stowage_testbed.observe.change import Change, JsonObject, Verb, name_of, namespace_of
from stowage_testbed.observe.follower import Arrival, Interrupted, Relisted, Resumed
from stowage_testbed.observe.receipt import Receipt
from stowage_testbed.trace.dating import Dating
from stowage_testbed.trace.format import Line, PodCame, Template, WatchLost
from stowage_testbed.trace.recording_objects import NodeRecording, ObjectRecording
from stowage_testbed.trace.recording_pods import PodRecording
from stowage_testbed.trace.watching import NAMESPACE

HOLD_S = 2.0
"""How long a line waits for others that belong before it: watches take turns."""

LONGEST_HOLD_S = 60.0
"""How long it waits while a watch is interrupted, whose news come late."""

NOTED_S = 1.0
"""From here on an interruption is noted: shorter ones change nothing."""


class Recording:
    """Turns what watches tell into lines, and gives them out in order.

    Parameters
    ----------
    began
        The time 0.
    kinds
        What is watched, by the kind of its source.
    write
        Takes each line.
    namespaces
        Only what is in these, and what is in none; all without any.
    """

    def __init__(
        self, began: Receipt, kinds: Mapping[str, Kind], write: Callable[[Line], None], namespaces: Collection[str] = ()
    ) -> None:
        self._dating = Dating(began)
        self._kinds = kinds
        self._write = write
        self._namespaces = frozenset(namespaces)
        self._nodes = NodeRecording()
        self._objects = ObjectRecording()
        self._pods = PodRecording(self._dating)
        self._held: list[tuple[float, int, Line]] = []
        self._number = count()
        self._told: set[str] = set()
        self._lost: dict[str, Interrupted] = {}
        self._losses: list[Interrupted] = []

    def begin(self, listed: Iterable[Change]) -> None:
        """Take what is there at the beginning, each kind in the order of creation."""
        for change in listed:
            lines = self._see(change.kind, change.body, change.receipt, first=True)
            # The namespaces of the beginning stand in the header.
            found = list(lines)
            self._hold(found if change.kind != NAMESPACE else ())

    def take(self, arrival: Arrival) -> None:
        """Take what a watch tells."""
        match arrival:
            case Change(kind, Verb.DELETED, receipt, body):
                self._hold(self._go(kind, body, receipt))
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
        t = 0.0 if first else self._dating.at(receipt)
        if not self._is_meant(kind, body):
            return
        if kind == "Pod":
            yield from self._pods.see(body, receipt, first=first)
        elif kind == "Node":
            yield from self._nodes.see(body, t)
        else:
            yield from self._objects.see(self._kinds[kind], body, t)

    def _go(self, kind: str, body: JsonObject, receipt: Receipt) -> Iterator[Line]:
        t, key = self._dating.at(receipt), (namespace_of(body), name_of(body))
        if kind == "Pod":
            yield from self._pods.go(key, receipt, body)
        elif kind == "Node":
            yield from self._nodes.go(key[1], t)
        else:
            yield from self._objects.go((self._kinds[kind].name, *key), t)

    def _keep_only(self, kind: str, listed: Iterable[Change], receipt: Receipt) -> Iterator[Line]:
        t = self._dating.at(receipt)
        keys = {(one.namespace, one.name) for one in listed}
        if kind == "Pod":
            yield from self._pods.keep_only(keys, receipt)
        elif kind == "Node":
            yield from self._nodes.keep_only({name for _, name in keys}, t)
        else:
            name = self._kinds[kind].name
            own = {(name, *key) for key in keys}
            yield from self._objects.keep_only(name, own, t)

    def _is_meant(self, kind: str, body: JsonObject) -> bool:
        namespace = name_of(body) if kind == NAMESPACE else namespace_of(body)
        return not (self._namespaces and namespace) or namespace in self._namespaces

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
            template = self._pods.templates[line.of]
            self._write(Template(t=t, id=line.of, template=template))
        self._write(line)
