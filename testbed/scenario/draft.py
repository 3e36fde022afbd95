"""A scenario on its way: the parts of a file that could be read, with their places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from testbed.scenario import build
from testbed.scenario.complaints import Complaint
from testbed.scenario.document import Document, Place
from testbed.scenario.instances import generate
from testbed.scenario.model import Expectations, InstanceSpec, NodePool, Workload

_UNIT_DEPTH = {"nodes": 2, "workload": 2, "expect": 3}
"""How deep the parts lie that are left out whole when something in them is wrong."""


@dataclass(slots=True)
class Draft:
    """The readable parts of one scenario.

    ``nodes_whole`` and ``workload_whole`` tell whether none had to be left out: only
    then can something be called missing.
    """

    document: Document
    sound: Mapping[str, Any]
    nodes: dict[Place, NodePool] = field(default_factory=dict)
    workload: dict[Place, Workload] = field(default_factory=dict)
    expect: Expectations = field(default_factory=Expectations)
    instance: InstanceSpec | None = None
    nodes_whole: bool = True
    workload_whole: bool = True

    @property
    def node_names(self) -> list[str]:
        """Return the names of all nodes."""
        return [name for pool in self.nodes.values() for name in pool.node_names()]

    @property
    def workload_names(self) -> list[str]:
        """Return the names of all workloads."""
        return [workload.name for workload in self.workload.values()]


def draft(document: Document, complaints: Sequence[Complaint]) -> Draft:
    """Build what can be built of a document, given what the schema said of it."""
    gone = {c.place if c.harmless else _unit(c.place) for c in complaints}
    sections = {place[0] for place in gone if place}
    data = document.data if isinstance(document.data, Mapping) else {}
    sound = _without(data, (), gone - {()})
    made = Draft(
        document,
        sound,
        nodes_whole=not sections & {"nodes", "instance"},
        workload_whole=not sections & {"workload", "instance"},
    )
    for place, item in _items(sound, "nodes"):
        made.nodes[place] = build.node_pool(item)
    for place, item in _items(sound, "workload"):
        made.workload[place] = build.workload(item)
    if "instance" in sound:
        _expand(made, build.instance_spec(sound["instance"]))
    made.expect = build.expectations(sound.get("expect", {}))
    return made


def _expand(made: Draft, spec: InstanceSpec) -> None:
    generated = generate(
        spec.seed, spec.nodes, spec.pods_per_node, spec.priorities, spec.usage
    )
    made.instance = spec
    made.nodes[("instance", "nodes")] = generated.node_pool()
    for number, workload in enumerate(generated.workload()):
        made.workload[("instance", number)] = workload


def _unit(place: Place) -> Place:
    return place[: _UNIT_DEPTH.get(str(place[0]), 1)] if place else place


def _without(value: Any, place: Place, gone: set[Place]) -> Any:
    """Return a copy of a value without the places that are gone; None in lists."""
    if isinstance(value, Mapping):
        return {
            key: _without(inner, (*place, key), gone)
            for key, inner in value.items()
            if (*place, key) not in gone
        }
    if isinstance(value, list):
        return [
            None if (*place, i) in gone else _without(inner, (*place, i), gone)
            for i, inner in enumerate(value)
        ]
    return value


def _items(sound: Mapping[str, Any], section: str) -> Iterator[tuple[Place, Any]]:
    for number, item in enumerate(sound.get(section, ())):
        if item is not None:
            yield (section, number), item
