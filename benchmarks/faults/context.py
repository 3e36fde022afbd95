"""What goes wrong, where and when, by ``faults.yaml``; and what a fault acts on, and what ends it again."""

import random
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.objects import Objects
from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.base.wait import Clock, SystemClock
from stowage_testbed.helm import Release
from stowage_testbed.observe.change import JsonObject
from stowage_testbed.observe.condition import pods_gone
from stowage_testbed.observe.state import State
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.environment import LONGEST_NAME
from stowage_testbed.scenario import timeouts
from stowage_testbed.scenario.expected import Bounds
from stowage_testbed.scenario.load import load_folder
from stowage_testbed.scenario.manifests import make_controller
from stowage_testbed.scenario.model import Scenario, Workload

FOLDER = Path(__file__).parent
FILE, WORLDS = FOLDER / "faults.yaml", FOLDER / "worlds"


@dataclass(frozen=True, slots=True)
class FaultSettings:
    """What goes wrong, and when; seconds are drawn between two.

    Attributes
    ----------
    do, way
        What is done to the cluster, one of `benchmarks.faults.cluster`, and in which of
        its ways; a list of ways makes a fault of each.
    at, count
        The moment. ``unschedulable``: a pod fits nowhere. ``solving``, ``proposed``,
        ``executing``: a plan is in this phase. ``evicted``, ``arrived``: so many pods
        have left their nodes, or come to those of the plan.
    after_s, lasts_s
        From the moment to the fault, and from there to its end.
    tries
        How often it is tried.
    world, least
        The scenario in `worlds` where it happens, and how many pods have a node in the
        end; without, as the world says.
    """

    do: str
    at: str
    way: str = ""
    count: int = 1
    after_s: tuple[float, float] = (0.0, 0.0)
    lasts_s: tuple[float, float] = (0.0, 0.0)
    tries: int = 20
    world: str = "moves"
    least: int | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong, and the world in which it does; the scenario has its name."""

    settings: FaultSettings
    scenario: Scenario


def load_faults(names: Collection[str] = ()) -> tuple[Fault, ...]:
    """Return the faults of these names, all of them without."""
    entries = dict(_each_way(yaml.safe_load(FILE.read_text("utf-8"))))
    worlds = {one.scenario_id.partition("/")[2]: one for one in load_folder(WORLDS)}
    for name in names:
        if name not in entries:
            raise InputError(f"there is no {name!r}; there are: {', '.join(entries)}")
    return tuple(_make_fault(name, FaultSettings(**entries[name]), worlds) for name in names or entries)


def _each_way(entries: Mapping[str, dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the entries, one for each way; the first has the name alone."""
    for name, entry in entries.items():
        ways = entry.pop("ways", [""])
        for way in ways:
            yield f"{name}@{way}" if way != ways[0] else name, {**entry, "way": way}


def _make_fault(name: str, settings: FaultSettings, worlds: Mapping[str, Scenario]) -> Fault:
    world = worlds[settings.world]
    scenario = replace(world, name=f"faults/{name}", variant=None)
    if settings.least is not None:
        end = replace(scenario.expect.end, placed=Bounds(settings.least))
        scenario = replace(scenario, expect=replace(scenario.expect, end=end))
    return Fault(settings, scenario)


class NothingToHitError(StowageError):
    """The plan that lives has nothing of the kind that a fault is about."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the plan has no {what}; choose another moment or workload")


@dataclass(slots=True)
class FaultContext:
    """All that a fault needs."""

    run: RunContext
    namespace: str
    release: Release
    scenario: Scenario
    settings: FaultSettings
    rng: random.Random
    clock: Clock = field(default_factory=SystemClock)
    facts: dict[str, float] = field(default_factory=dict)
    _undo: ExitStack = field(default_factory=ExitStack)

    @property
    def objects(self) -> Objects:
        """Requests to the API server."""
        return self.run.objects

    def on_end(self, end_fault: Callable[[], object]) -> None:
        """Register what is done when the fault ends; the last one is done first."""
        self._undo.callback(end_fault)

    def end_fault(self) -> None:
        """End the fault; harmless if it has ended."""
        self._undo.close()

    def write_until_end(self, file: Path, text: str, after: str) -> None:
        """Write what a process reads; ``after`` stands there when the fault ends."""
        self.on_end(partial(file.write_text, after, "utf-8"))
        file.write_text(text, "utf-8")

    def way(self, *known: str) -> str:
        """Return the way that was asked for, the first one without."""
        way = self.settings.way or known[0]
        if way not in known:
            ways = ", ".join(sorted(known))
            raise InputError(f"fault {self.settings.do!r} has no way {way!r}; there are: {ways}")
        return way

    def create(self, manifest: Manifest, *, or_keep: bool = False) -> JsonObject:
        """Create an object, as `Objects.create`; it is gone when the fault ends."""
        metadata = manifest["metadata"]
        name, namespace = metadata["name"], metadata.get("namespace", "")
        delete = partial(self.objects.delete, manifest["kind"], name)
        self.on_end(partial(delete, namespace=namespace))
        return self.objects.create(manifest, or_keep=or_keep)

    def beside(self, what: str) -> str:
        """Return the name of a namespace of the fault beside the scenario's."""
        return f"{what}-{self.namespace}"[:LONGEST_NAME].rstrip("-")

    def remove_namespace(self, namespace: str) -> None:
        """Remove a namespace of the fault, and wait until its pods are gone."""
        for kind in ("ReplicaSet", "Pod"):
            self.objects.delete_all(kind, namespace)
        gone = pods_gone(namespace)
        self.run.observer.wait_for(f"the pods of {namespace} to go", gone, timeout_s=timeouts.CLEANUP_S)
        self.objects.delete("Namespace", namespace)

    def apply(self, workload: Workload) -> None:
        """Create one more workload."""
        self.objects.create(make_controller(workload, self.namespace))

    def plan(self) -> JsonObject:
        """Return the newest plan."""
        body = self.run.observer.read(_newest_plan)
        if body is None:
            raise NothingToHitError("status, for there is no plan")
        return body

    def status(self) -> JsonObject:
        """Return the status of the newest plan; as `plan` raises."""
        status: JsonObject = self.plan().get("status") or {}
        return status

    def planned_node(self, role: str) -> str:
        """Return a node of the newest plan, drawn among those of the role.

        Pods leave a ``source`` and go to a ``target``; a ``bystander`` is neither.
        """
        status = self.status()
        moves, placements = status.get("moves") or (), status.get("placements") or ()
        sources, targets = ({move[end] for move in moves} for end in ("fromNode", "toNode"))
        others = (
            {one["metadata"]["name"] for one in self.scenario.first_nodes}
            - sources
            - targets
            - {one["node"] for one in placements}
        )
        named = {"source": sources, "target": targets, "bystander": others}[role]
        # A plan that has ended may name nodes that have gone since.
        names = {body["metadata"]["name"] for body in self.run.observer.read(lambda state: state.bodies("Node"))}
        there: list[str] = sorted(names & named)
        if not there:
            raise NothingToHitError(f"{role} node")
        return self.rng.choice(there)

    def moved_owner(self) -> str:
        """Return the name of a ReplicaSet of which the plan moves a pod."""
        moves = self.status().get("moves") or ()
        if not moves:
            raise NothingToHitError("moves")
        pod: str = self.rng.choice(moves)["pod"]
        return pod.partition("/")[2].rpartition("-")[0]


def _newest_plan(state: State) -> JsonObject | None:
    newest = [plan.uid for plan in state.plans()][-1:]
    return next((body for body in state.bodies("PackingPlan") if body["metadata"]["uid"] in newest), None)
