"""The context of a scenario's steps: where they run, and their results so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from stowage_testbed.api_client import Objects
from stowage_testbed.errors import StowageError
from stowage_testbed.hpa.record import HpaRecord
from stowage_testbed.observe.receipt import Receipt
from stowage_testbed.observe.settled import Condition
from stowage_testbed.observe.source import OBJECT_SOURCES
from stowage_testbed.run.arm import PodOverrides, with_overrides
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.environment import ScenarioEnvironment
from stowage_testbed.run.listener import WindowListener
from stowage_testbed.run.timeouts import Timeouts
from stowage_testbed.scenario.check import CheckResult
from stowage_testbed.scenario.manifests import Manifest
from stowage_testbed.scenario.model import ObjectSpec, Scenario, Workload
from stowage_testbed.scenario.steps.action import Step
from stowage_testbed.scenario.steps.demand import Demand


@dataclass(slots=True)
class StepContext:
    """What every step acts on, and what the steps have produced.

    Attributes
    ----------
    window_listener
        Called when the measured window opens and closes.
    demand
        How many pods have been asked for.
    made
        How many pods bursts have made of each workload, for the names of the next.
    report
        Receives the progress of a long step.
    step, facts
        The step that is being carried out, and what is worth knowing of it.
    recovery
        Of the last step that overloaded a service.
    """

    run: RunContext
    scenario: Scenario
    environment: ScenarioEnvironment
    pod_overrides: PodOverrides | None = None
    report: Callable[[str], None] = lambda _: None
    window_listener: WindowListener = field(default_factory=WindowListener)
    demand: Demand = field(init=False)
    made: Counter[str] = field(default_factory=Counter)
    checks: list[CheckResult] = field(default_factory=list)
    started: Receipt | None = None
    stopped: Receipt | None = None
    facts: dict[str, float] = field(default_factory=dict)
    recovery: HpaRecord | None = None
    step: Step = field(init=False)

    def __post_init__(self) -> None:
        self.demand = Demand(self.scenario.pods_by_name)

    def watch_objects(self) -> None:
        """Watch the kinds that the scenario's objects are of.

        Raises
        ------
        ListFailedError
            The cluster does not know one of them.
        """
        for item in self.scenario.objects.values():
            self.run.observer.watch(OBJECT_SOURCES[item.kind])

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
        found = (one for one in self.scenario.workload if one.name == name)
        return next(found, None)

    def existing_workload(self, name: str) -> Workload:
        """Return a workload that a step changes.

        Raises
        ------
        StowageError
            It is not there.
        """
        workload = self.workload(name)
        if workload is None:
            raise StowageError(
                f"there is no workload {name}; something else than the steps has "
                "removed it"
            )
        return workload

    def object(self, name: str) -> ObjectSpec | None:
        """Return an object of the scenario besides its workload."""
        return self.scenario.objects.get(name)

    def create(self, manifest: Manifest) -> None:
        """Create an object; pods get the scheduler's overrides."""
        self.objects.create(with_overrides(manifest, self.pod_overrides))

    def timeout_s(self) -> float:
        """Return the deadline of the step, its own or that of its kind."""
        action = self.step.action
        if action.own_timeout_s is not None:
            return action.own_timeout_s
        return self.timeouts.step_s(self.scenario, action.kind, action.changed_nodes)

    def wait_for(
        self, what: str, condition: Condition, *, timeout_s: float, stable_s: float = 0
    ) -> None:
        """Wait for a condition, and until no pod has changed for so long."""
        self.run.observer.wait_for(
            what,
            condition,
            timeout_s=timeout_s,
            quiet_s=stable_s,
            quiet_kinds=("Pod",) if stable_s else (),
        )
