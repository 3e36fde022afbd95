"""The context of a scenario's steps: where they run, and their results so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus

from stowage_testbed.api.client import ApiRefusedError, Manifest
from stowage_testbed.api.kinds import DEFINITION, Kind, KindMissingError
from stowage_testbed.api.objects import Objects
from stowage_testbed.base.errors import StowageError
from stowage_testbed.hpa.recovery import HpaRecord
from stowage_testbed.observe.change import JsonObject, name_of
from stowage_testbed.observe.condition import SHOWN, Condition, ConditionResult
from stowage_testbed.observe.pod import Pod
from stowage_testbed.observe.receipt import Receipt
from stowage_testbed.observe.source import PACKING_PLANS, source_of
from stowage_testbed.observe.state import State
from stowage_testbed.run.arm import apply_overrides
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.environment import ScenarioEnvironment, await_account
from stowage_testbed.run.harness import Harness
from stowage_testbed.run.outcome import CheckpointRecord, StepRecord, Window
from stowage_testbed.run.recorder import RunRecorder
from stowage_testbed.scenario.check import CheckResult
from stowage_testbed.scenario.manifests import make_controllers
from stowage_testbed.scenario.model import Scenario, Workload
from stowage_testbed.scenario.objects import ObjectSpec
from stowage_testbed.scenario.steps.action import Demand, Step, join_names
from stowage_testbed.scenario.timeouts import Timeouts

MALFORMED = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY})
"""What the server says of an object that it would refuse whatever else there is."""


@dataclass(slots=True)
class StepContext:
    """What every step acts on, and what the steps have produced.

    `demand` is how many pods have been asked for, `made` how many bursts have made of each workload. `untried` are
    objects that the server has not looked at yet; `refused` says that one of them, or a workload, is none of this
    cluster's. `is_planned` says whether an optimiser has served. `noted_changes` counts those at the last checkpoint,
    `noted_window` is what had been measured then. `facts` are what is worth knowing of the `step` that is being carried
    out, and `recovery` is of the last one that overloaded a service.
    """

    run: RunContext
    scenario: Scenario
    environment: ScenarioEnvironment
    recorder: RunRecorder
    harness: Harness = field(default_factory=Harness)
    demand: Demand = field(init=False)
    made: Counter[str] = field(default_factory=Counter)
    records: list[StepRecord] = field(default_factory=list)
    checkpoints: list[CheckpointRecord] = field(default_factory=list)
    checks: list[CheckResult] = field(default_factory=list)
    evidence: dict[str, str] = field(default_factory=dict)
    untried: list[ObjectSpec] = field(init=False)
    refused: bool = False
    is_planned: bool = False
    noted_changes: int = 0
    noted_window: Window | None = None
    started: Receipt | None = None
    stopped: Receipt | None = None
    facts: dict[str, float] = field(default_factory=dict)
    recovery: HpaRecord | None = None
    step: Step = field(init=False)

    def __post_init__(self) -> None:
        self.demand = Demand(self.scenario.pods_by_name)
        self.untried = list(self.scenario.objects.values())

    @property
    def window(self) -> Window | None:
        """What was measured; ``None`` while it has no end."""
        if self.started is None or self.stopped is None:
            return None
        return Window(self.started, self.stopped)

    def try_objects(self) -> None:
        """Watch the objects' kinds, and have the server look at all that is written.

        Each is looked at once, when its kind is served: that of some comes with the release, or is defined by another
        object.
        """
        untried, self.untried = self.untried, []
        for item in untried:
            try:
                kind = self.objects.kinds.of(item.manifest)
            except KindMissingError:
                self.untried.append(item)
                continue
            self.run.observer.watch(source_of(kind))
            self._create(item, kind, dry_run=True)

    def try_workloads(self) -> None:
        """Have the server look at each workload; as `try_objects` raises."""
        for workload in self.scenario.workload:
            # Its controllers are equal.
            for manifest in make_controllers(workload, self.namespace)[:1]:
                with _say_where(f"workload {workload.name}"):
                    self._offer(manifest, dry_run=True)

    def create_object(self, item: ObjectSpec) -> None:
        """Create an object, and return when it is of use."""
        with _say_where(item.place):
            kind = self.objects.kinds.of(item.manifest)
        self.run.observer.watch(source_of(kind))
        self._create(item, kind)
        if kind.name == DEFINITION:
            self.objects.await_definition(item.object_name, self.timeouts.prepare_s)
        if kind.name == "Namespace":
            await_account(self.run, item.object_name)

    def _create(self, item: ObjectSpec, kind: Kind, *, dry_run: bool = False) -> None:
        with _say_where(item.place):
            self._offer(item.in_namespace(kind, self.namespace), dry_run=dry_run)

    def _offer(self, manifest: Manifest, *, dry_run: bool) -> None:
        asked = apply_overrides(manifest, self.harness.pod_overrides)
        if not dry_run:
            self.objects.apply(asked, manager="stowage")
            return
        try:
            made = self.objects.create(asked, strict=True, dry_run=True)
        except ApiRefusedError as error:
            # What else is refused now may be allowed when other objects are there.
            if error.status in MALFORMED:
                self.refused = True
                raise
            return
        dropped = list(_list_dropped(asked.get("spec"), made.get("spec"), "spec"))
        if dropped:
            self.refused = True
            raise StowageError(
                f"the API server would drop {join_names(dropped)}: the feature gate of "
                "that is off in this cluster; remove it"
            )

    @property
    def namespace(self) -> str:
        """Where the pods are."""
        return self.environment.namespace

    @property
    def objects(self) -> Objects:
        """Requests to the API server."""
        return self.run.objects

    @property
    def timeouts(self) -> Timeouts:
        """Deadlines by kind of step."""
        return self.run.timeouts

    def workload(self, name: str) -> Workload | None:
        """Return a workload of the scenario."""
        return next((one for one in self.scenario.workload if one.name == name), None)

    def existing_workload(self, name: str) -> Workload:
        """Return a workload that a step changes."""
        workload = self.workload(name)
        if workload is None:
            raise StowageError(f"there is no workload {name}; something else than the steps has removed it")
        return workload

    def pods_of(self, workload: str) -> list[Pod]:
        """Return all pods of a workload that the watches have, by name."""
        seen = self.run.observer.read(lambda state: state.all_pods(self.namespace))
        return [pod for pod in seen if pod.workload == workload]

    def object(self, name: str) -> ObjectSpec | None:
        """Return an object of the scenario besides its workload."""
        return self.scenario.objects.get(name)

    def watch_named(self, names: Iterable[str]) -> None:
        """Watch the kinds of objects that are called ``Kind/name``."""
        for name in names:
            kind = name.rpartition("/")[0]
            if kind and self.object(name) is None:
                self.run.observer.watch(source_of(self.objects.kinds.find(kind)))

    def find_observed(self, state: State, name: str) -> JsonObject | None:
        """Return an object as the watches have it, if it is there; it is named as in the scenario, or ``Kind/name``."""
        item, (kind_name, _, own) = self.object(name), name.rpartition("/")
        if item is None and not kind_name:
            bodies = state.bodies(PACKING_PLANS.kind)
        else:
            manifest = item.manifest if item else {"kind": kind_name}
            kind = self.objects.kinds.find_known(manifest)
            if kind is None:
                return None
            where = item.namespace if item else ""
            within = (where or self.namespace) if kind.namespaced else None
            bodies = state.bodies(kind.key, within)
        own = item.object_name if item else own
        return next((one for one in bodies if name_of(one) == own), None)

    def create(self, manifest: Manifest) -> None:
        """Create an object; pods get the scheduler's overrides."""
        self.objects.create(apply_overrides(manifest, self.harness.pod_overrides))

    def timeout_s(self) -> float:
        """Return the deadline of the step, its own or that of its kind."""
        action = self.step.action
        if action.own_timeout_s is not None:
            return action.own_timeout_s
        return self.timeouts.step_s(self.scenario, action.kind, action.changed_nodes)

    def wait_for(self, what: str, condition: Condition, *, timeout_s: float | None = None, stable_s: float = 0) -> None:
        """Wait for a condition until the step's deadline or another, and until no pod has changed for so long."""
        deadline_s = self.timeout_s() if timeout_s is None else timeout_s
        kinds = ("Pod",) if stable_s else ()
        self.run.observer.wait_for(what, condition, timeout_s=deadline_s, quiet_s=stable_s, quiet_kinds=kinds)


def none_left(list_left: Callable[[State], Sequence[str]]) -> Condition:
    """Hold when nothing is listed any more."""

    def condition(state: State) -> ConditionResult:
        left = list_left(state)
        return ConditionResult(not left, f"{len(left)} left: {', '.join(left[:SHOWN]) or 'nothing'}")

    return condition


def _list_dropped(asked: object, made: object, path: str) -> Iterator[str]:
    """Yield the fields of an object that the server left out."""
    if isinstance(asked, dict) and isinstance(made, dict):
        for name, value in asked.items():
            if name in made:
                yield from _list_dropped(value, made[name], f"{path}.{name}")
            elif value:  # the server leaves out what is empty
                yield f"{path}.{name}"
    elif isinstance(asked, list) and isinstance(made, list) and len(asked) == len(made):
        # Where there are more, the server has added some of its own.
        for number, (one, other) in enumerate(zip(asked, made, strict=True)):
            yield from _list_dropped(one, other, f"{path}[{number}]")


@contextmanager
def _say_where(place: str) -> Iterator[None]:
    """Say of a refusal where the object is written."""
    try:
        yield
    except StowageError as error:
        error.args = (f"{place}: {error}",)
        raise
