"""What the steps of a scenario act on: a cluster, its watches, and what the steps before have come to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.kinds import DEFINITION, Kind, KindMissingError
from stowage_testbed.api.objects import Objects
from stowage_testbed.api.pod_templates import PodOverrides, apply_overrides
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.hpa.recovery import HpaRecord
from stowage_testbed.metrics.state import ClusterState
from stowage_testbed.observe.change import JsonObject, Receipt, name_of
from stowage_testbed.observe.condition import SHOWN, Condition, ConditionResult, condition, object_there
from stowage_testbed.observe.pod import Pod
from stowage_testbed.observe.source import PACKING_PLANS, source_of
from stowage_testbed.observe.state import State
from stowage_testbed.scenario import timeouts
from stowage_testbed.scenario.check import CheckResult
from stowage_testbed.scenario.manifests import make_groups
from stowage_testbed.scenario.objects import ObjectSpec
from stowage_testbed.scenario.steps.action import Demand, Step

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

    from stowage_testbed.observe.observer import Observer
    from stowage_testbed.scenario.model import Scenario, Workload
    from stowage_testbed.scenario.steps.releasing import Release


class WindowListener:
    """Called when the measured window opens and closes, in the run's own thread; does nothing by itself."""

    def open(self) -> None:
        """Begin; the window starts when this returns."""

    def close(self) -> None:
        """End; the window has just stopped."""


class StepContext(ABC):
    """What every step acts on, and what the steps have come to; the run implements what steps leave to it."""

    is_released = True  # Whether steps choose the release that serves; if not, another scheduler serves already
    pod_overrides: PodOverrides | None = None  # What every pod that a step creates gets
    window_listener = WindowListener()
    step: Step  # The one that is being carried out

    def __init__(
        self, cluster: Cluster, api: ApiClient, observer: Observer, scenario: Scenario, namespace: str
    ) -> None:
        self.cluster, self.api, self.observer = cluster, api, observer
        self.objects = Objects(api)
        self.scenario, self.namespace = scenario, namespace
        self.workloads = {one.name: one for one in scenario.workload}
        self.demand = Demand(scenario.pods_by_name)
        self.made: Counter[str] = Counter()  # How many pods bursts have made of each workload
        self.facts: dict[str, float] = {}  # What is worth knowing of the step
        self.checks: list[CheckResult] = []
        self.states: dict[str, ClusterState] = {}  # Nodes and pods at each checkpoint, by its name
        self.is_planned = False  # Whether an optimiser has served
        self.started: Receipt | None = None
        self.stopped: Receipt | None = None
        self.recovery: HpaRecord | None = None  # Of the last step that overloaded a service

    @abstractmethod
    def report(self, text: str) -> None:
        """Tell the user what happens."""

    @abstractmethod
    def release(self, release: Release) -> None:
        """Have a release serve, and try the objects whose kinds come with it."""

    @abstractmethod
    def find_scheduler_pids(self) -> tuple[int, ...]:
        """Return the processes of what places the pods; a StowageError if none is known on this machine."""

    @property
    @abstractmethod
    def release_namespace(self) -> str:
        """Where the release that serves is; empty if there is none."""

    @abstractmethod
    def note_checkpoint(self, name: str) -> None:
        """Note pods and nodes as they are now, and figures of what led to them."""

    def open_window(self) -> None:
        """Begin what is measured."""
        # What is prepared for measuring is no part of what is measured.
        self.window_listener.open()
        self.started = self.observer.clock.now()

    def close_window(self) -> None:
        """End what is measured."""
        self.stopped = self.observer.clock.now()
        self.window_listener.close()

    def create(self, manifest: Manifest) -> None:
        """Create an object; pods get the scheduler's overrides."""
        self.objects.create(apply_overrides(manifest, self.pod_overrides))

    def create_groups(self, workload: Workload) -> None:
        """Create the PodGroups of a workload whose pods are gangs, unless they are there: without, no pod is tried."""
        for manifest in make_groups(workload, self.namespace):
            self.objects.apply(manifest, manager="stowage")

    def create_object(self, item: ObjectSpec) -> None:
        """Create an object of the scenario, and return when it is of use."""
        with naming_place(item.place):
            kind = self.objects.kinds.of(item.manifest)
        self.observer.watch(source_of(kind))
        with naming_place(item.place):
            made = apply_overrides(item.in_namespace(kind, self.namespace), self.pod_overrides)
            self.objects.apply(made, manager="stowage")
        if kind.name == DEFINITION:
            self.objects.await_definition(item.object_name, timeouts.PREPARE_S)
        if kind.name == "Namespace":
            await_account(self.observer, item.object_name)

    def pods_of(self, workload: str) -> list[Pod]:
        """Return all pods of a workload that the watches have, by name."""
        seen = self.observer.read(lambda state: state.all_pods(self.namespace))
        return [pod for pod in seen if pod.workload == workload]

    def watch_named(self, names: Iterable[str]) -> None:
        """Watch the kinds of objects that are called ``Kind/name``."""
        for name in names:
            kind = name.rpartition("/")[0]
            if kind and name not in self.scenario.objects:
                self.observer.watch(source_of(self.objects.kinds.find(kind)))

    def find_observed(self, state: State, name: str) -> JsonObject | None:
        """Return an object as the watches have it, if it is there; it is named as in the scenario, or ``Kind/name``."""
        item, (kind_name, _, own) = self.scenario.objects.get(name), name.rpartition("/")
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

    def timeout_s(self) -> float:
        """Return the deadline of the step, its own or that of its kind."""
        own: float | None = getattr(self.step.action, "timeout_s", None)
        return timeouts.step_s(self.scenario, self.step.action) if own is None else own

    def wait_for(self, what: str, condition: Condition, *, timeout_s: float | None = None, stable_s: float = 0) -> None:
        """Wait for a condition until the step's deadline or another, and until no pod has changed for so long."""
        deadline_s = self.timeout_s() if timeout_s is None else timeout_s
        kinds = ("Pod",) if stable_s else ()
        self.observer.wait_for(what, condition, timeout_s=deadline_s, quiet_s=stable_s, quiet_kinds=kinds)


def await_account(observer: Observer, namespace: str) -> None:
    """Wait for a namespace's default account, without which it takes no pods."""
    there = object_there("ServiceAccount", namespace, "default")
    observer.wait_for(f"the default service account of {namespace}", there, timeout_s=timeouts.PREPARE_S)


def delete_object(objects: Objects, item: ObjectSpec, namespace: str) -> Kind | None:
    """Delete an object of a scenario; return its kind, None if that is not served."""
    try:
        kind = objects.kinds.of(item.manifest)
    except KindMissingError:
        return None
    objects.delete(kind.full_name, item.object_name, namespace=item.namespace or namespace)
    return kind


@condition
def none_left(state: State, list_left: Callable[[State], Sequence[str]]) -> ConditionResult:
    """Hold when nothing is listed any more."""
    left = list_left(state)
    return ConditionResult(not left, f"{len(left)} left: {', '.join(left[:SHOWN]) or 'nothing'}")


@contextmanager
def naming_place(place: str) -> Iterator[None]:
    """Say of a refusal where the object is written."""
    try:
        yield
    except StowageError as error:
        error.args = (f"{place}: {error}",)
        raise
