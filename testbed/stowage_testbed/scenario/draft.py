"""A partly read scenario: the valid parts of a file, with their places."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.node_pool import NodePool
from stowage_testbed.declaration import make_object
from stowage_testbed.scenario.arrivals.trace_file import TraceFile, read_trace
from stowage_testbed.scenario.document import Document, Place
from stowage_testbed.scenario.instances import generate
from stowage_testbed.scenario.issues import DocumentIssue
from stowage_testbed.scenario.model import InstanceSpec, Workload, count_pods_brought
from stowage_testbed.scenario.objects import ObjectSpec, is_file, make_object_spec, name_again, read_objects
from stowage_testbed.scenario.scenario_file import ScenarioFile
from stowage_testbed.scenario.steps.action import NameUsed, Step, Surroundings
from stowage_testbed.scenario.steps.applying import Apply
from stowage_testbed.scenario.steps.kinds import ACTIONS, list_replayed_nodes, list_replayed_owners
from stowage_testbed.scenario.steps.nodes import AddNodes
from stowage_testbed.scenario.steps.waiting import Check

_UNIT_DEPTH = {"nodes": 2, "workload": 2, "objects": 2, "steps": 2, "catch": 2, "expect": 3}
"""How deep the parts lie that are left out whole when something in them is wrong."""

Part = TypeVar("Part")

BRINGING = ("workload", "objects", "steps")
"""The sections that bring pods."""


@dataclass(slots=True)
class Draft:
    """The readable parts of one scenario.

    ``valid`` are its plain values, ``file`` what was made of them; in lists ``None``
    stands for what had to be left out. ``broken`` are the sections of which something
    had to be.
    ``step_issues`` are what is wrong within single steps.
    """

    document: Document
    valid: Mapping[str, Any]
    file: ScenarioFile
    nodes: dict[Place, NodePool] = field(default_factory=dict)
    workload: dict[Place, Workload] = field(default_factory=dict)
    objects: dict[str, ObjectSpec] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    step_issues: list[DocumentIssue] = field(default_factory=list)
    traces: dict[str, TraceFile] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)

    def whole(self, *sections: str) -> bool:
        """Return whether all of these could be read.

        Only then can something be called missing.
        """
        return self.broken.isdisjoint(sections)

    @property
    def stepped(self) -> bool:
        """Return whether the scenario has steps."""
        data = self.document.data
        return isinstance(data, Mapping) and "steps" in data

    @property
    def pools(self) -> dict[Place, NodePool]:
        """Return all kinds of nodes, also those that steps add."""
        added: dict[Place, NodePool] = {
            step.place(): step.action.pool for step in self.steps if isinstance(step.action, AddNodes)
        }
        return {**self.nodes, **added}

    @property
    def nodes_as_objects(self) -> list[str]:
        """Return the names of nodes that are among the objects."""
        objects = self.objects.values()
        return [one.object_name for one in objects if one.kind == "Node"]

    @property
    def node_names(self) -> list[str]:
        """Return the names of all nodes."""
        pools = self.pools.values()
        names = [name for pool in pools for name in pool.node_names()]
        return [*names, *self.nodes_as_objects, *list_replayed_nodes(self.steps)]

    @property
    def workload_names(self) -> list[str]:
        """Return the names of all workloads."""
        return [workload.name for workload in self.workload.values()]

    @property
    def pods_by_name(self) -> dict[str, int]:
        """Return how many pods come with each workload and object that has any."""
        return count_pods_brought(self.workload.values(), self.objects.values())

    @property
    def pod_names(self) -> list[str]:
        """Return all names under which pods are known."""
        return [*self.pods_by_name, *list_replayed_owners(self.steps)]

    @property
    def moments(self) -> Iterator[tuple[Place, Mapping[str, Any]]]:
        """Everything that is expected of a moment, with its place in the file."""
        expect = self.valid.get("expect", {})
        for moment in ("deterministic", "optimizer", "end"):
            yield ("expect", moment), expect.get(moment, {})
        for step in self.steps:
            if isinstance(step.action, Check):
                yield step.place(), self.valid["steps"][step.number - 1]["check"]

    def names_used(self) -> Iterator[tuple[Step, NameUsed]]:
        """Yield every name that the steps use, with its place in the file."""
        for step in self.steps:
            plain = self.valid["steps"][step.number - 1][step.kind]
            for one in step.action.references(plain):
                yield step, replace(one, place=step.place(*one.place))


def make_draft(document: Document, schema_issues: Sequence[DocumentIssue], folder: Path = Path()) -> Draft:
    """Build what can be built of a document, given what the schema said of it.

    The files that it names are looked up in ``folder``.
    """
    gone = {
        # An entry of `catch` has but one key.
        c.place if c.harmless and c.place[0] != "catch" else _unit_of(c.place)
        for c in schema_issues
    }
    broken = {str(place[0]) for place in gone if place}
    if "instance" in broken:
        broken |= {"nodes", "workload"}
    data = document.data if isinstance(document.data, Mapping) else {}
    valid = _drop(data, (), gone - {()})
    made = Draft(document, valid, make_object(ScenarioFile, valid), broken=broken)
    made.nodes.update(_locate("nodes", made.file.nodes))
    nodes = sum(pool.count for pool in made.nodes.values())
    for place, one in _locate("workload", made.file.workload):
        daemons = one.kind == "DaemonSet"
        counted = daemons and "replicas" not in valid["workload"][place[1]]
        made.workload[place] = replace(one, replicas=nodes) if counted else one
    if made.file.instance:
        _expand(made, made.file.instance)
    for name, item in made.file.objects.items():
        made.objects[name] = make_object_spec(name, item, document.mark(("objects", name)).line)
    _take_steps(made, folder)
    return made


def _take_steps(made: Draft, folder: Path) -> None:
    items = [(place, kind, plain) for place, item in _locate("steps", made.file.steps) for kind, plain in item.items()]
    for _, kind, plain in items:
        if kind == "replay" and plain["file"] not in made.traces:
            made.traces[plain["file"]] = read_trace(folder / plain["file"])
    items = list(_take_files(made, items, folder))
    bursts = {plain["workload"] for _, kind, plain in items if kind == "burst"}
    controllers = [name for name in made.workload_names if name not in bursts]
    has_nodes = bool({"nodes", "instance"} & set(made.valid) or made.nodes_as_objects)
    surroundings = Surroundings(controllers, made.traces, has_nodes=has_nodes)
    for place, kind, plain in items:
        try:
            action = ACTIONS[kind].read(plain, surroundings)
        except ValueError as error:
            made.broken.add("steps")
            made.step_issues.append(DocumentIssue((*place, kind), str(error)))
            continue
        line = made.document.mark(place).line
        made.steps.append(Step(int(place[1]) + 1, line, action))
        for issue in ACTIONS[kind].issues(plain):
            inner = (*place, kind, *issue.place)
            made.step_issues.append(replace(issue, place=inner))
    if any(trace.issues or trace.unreadable for trace in made.traces.values()):
        made.broken.add("steps")


def _take_files(made: Draft, items: Sequence[tuple[Place, str, Any]], folder: Path) -> Iterator[tuple[Place, str, Any]]:
    """Take the objects of files that steps apply; yield the steps with their names."""
    files: dict[str, list[ObjectSpec]] = {}
    for place, kind, plain in items:
        if not issubclass(ACTIONS[kind], Apply):
            yield place, kind, plain
            continue
        names: list[str] = []
        for path in (plain,) if isinstance(plain, str) else plain:
            if not is_file(path):
                names.append(path)
                continue
            taken = {*made.workload_names, *made.objects}
            try:
                if path in files:
                    found = name_again(files[path], taken)
                else:
                    found = files[path] = read_objects(path, folder, taken)
            except StowageError as error:
                made.broken |= {"objects", "steps"}
                issue = DocumentIssue((*place, kind), str(error))
                made.step_issues.append(issue)
                continue
            names += [one.name for one in found]
            made.objects |= {one.name: one for one in found}
        yield place, kind, plain if names == [plain] else names


def _expand(made: Draft, spec: InstanceSpec) -> None:
    generated = generate(spec.seed, spec.nodes, spec.pods_per_node, spec.priorities, spec.usage)
    made.nodes[("instance", "nodes")] = generated.node_pool()
    for number, workload in enumerate(generated.workload):
        made.workload[("instance", number)] = workload


def _unit_of(place: Place) -> Place:
    return place[: _UNIT_DEPTH.get(str(place[0]), 1)] if place else place


def _drop(value: Any, place: Place, gone: set[Place]) -> Any:
    """Return a copy of a value without the places that are gone; None in lists."""
    if isinstance(value, Mapping):
        return {key: _drop(inner, (*place, key), gone) for key, inner in value.items() if (*place, key) not in gone}
    if isinstance(value, list):
        return [None if (*place, i) in gone else _drop(inner, (*place, i), gone) for i, inner in enumerate(value)]
    return value


def _locate(section: str, items: Iterable[Part | None]) -> Iterator[tuple[Place, Part]]:
    """Yield the parts of a section that could be read, with their places."""
    for number, item in enumerate(items):
        if item is not None:
            yield (section, number), item
