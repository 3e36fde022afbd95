"""What takes empty nodes away and brings them back, alike for every arm."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from stowage_testbed.amounts.resources import Resources
from stowage_testbed.observe.change import JsonObject
from stowage_testbed.observe.pod_body import requests_of
from stowage_testbed.policyday.state import State, nodes_in_use
from stowage_testbed.simulate.trace_events import make_node
from stowage_testbed.simulate.virtual_time import Event
from stowage_testbed.trace.format import NodeSeen
from stowage_testbed.trace.reading import Trace

EVERY_S = 120.0
"""Between two looks at the cluster."""

IDLE_S = 600.0
"""How long a node must have been empty; the cluster autoscaler's default."""


@dataclass(slots=True)
class Autoscaler:
    """Removes nodes that stay empty, and brings them back when pods wait.

    They come back as they were at first: without a taint.
    """

    day: Trace
    _nodes: dict[str, JsonObject] = field(init=False)
    _idle_since: dict[str, float] = field(init=False, default_factory=dict)
    _gone: list[str] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self._nodes = {line.name: make_node(line) for line in reversed(self.day.lines) if isinstance(line, NodeSeen)}

    def look(self, at_s: float, state: State) -> Iterator[Event]:
        """Yield what happens to the nodes."""
        waiting_milli = sum(requests_of(pod)["cpu"] for pod in state["pods"] if not pod["spec"].get("nodeName"))
        used = nodes_in_use(state)
        for name in used:
            self._idle_since.pop(name, None)
        if waiting_milli:
            yield from self._bring(at_s, waiting_milli)
            return
        for name in sorted({one["metadata"]["name"] for one in state["nodes"]} - used):
            since_s = self._idle_since.setdefault(name, at_s)
            if at_s - since_s >= IDLE_S and name in self._nodes:
                del self._idle_since[name]
                self._gone.append(name)
                yield {"at": at_s, "nodeGone": name}

    def _bring(self, at_s: float, waiting_milli: int) -> Iterator[Event]:
        """Yield nodes until what waits could have room, the last that went first."""
        while self._gone and waiting_milli > 0:
            name = self._gone.pop()
            node = self._nodes[name]
            waiting_milli -= Resources.of_list(node["status"]["allocatable"])["cpu"]
            yield {"at": at_s, "node": node}
