"""The course of one stepped scenario: where it runs, and what has come of it so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from stowage_testbed.compare.arms.arm import Dress
from stowage_testbed.hpa.record import HpaRecord
from stowage_testbed.observe.receipt import Receipt
from stowage_testbed.observe.settled import Condition
from stowage_testbed.observe.source import OBJECT_SOURCES
from stowage_testbed.run.bench import Bench
from stowage_testbed.run.objects import Objects
from stowage_testbed.run.site import Site
from stowage_testbed.run.steps.dress import dressed
from stowage_testbed.run.steps.gauge import Gauge
from stowage_testbed.run.timeouts import Timeouts
from stowage_testbed.scenario.check import CheckResult
from stowage_testbed.scenario.manifests import Manifest
from stowage_testbed.scenario.model import ObjectSpec, Scenario, Workload
from stowage_testbed.scenario.steps.demand import Demand


@dataclass(slots=True)
class Course:
    """What every step acts on, and what the steps leave behind.

    Attributes
    ----------
    gauge
        Is told when the measured window opens and closes.
    demand
        How many pods have been asked for.
    made
        How many pods bursts have made of each workload, for the names of the next.
    tell
        Takes what a long step has to say while it goes on.
    facts
        Of the step that is being carried out.
    recovery
        Of the last step that overloaded a service.
    """

    bench: Bench
    scenario: Scenario
    site: Site
    dress: Dress | None
    tell: Callable[[str], None]
    gauge: Gauge = field(default_factory=Gauge)
    demand: Demand = field(init=False)
    made: Counter[str] = field(default_factory=Counter)
    checks: list[CheckResult] = field(default_factory=list)
    started: Receipt | None = None
    stopped: Receipt | None = None
    facts: dict[str, float] = field(default_factory=dict)
    recovery: HpaRecord | None = None

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
            self.bench.observer.watch(OBJECT_SOURCES[item.kind])

    @property
    def namespace(self) -> str:
        """Where the pods are."""
        return self.site.namespace

    @property
    def objects(self) -> Objects:
        """Requests to the API server."""
        return self.bench.objects

    @property
    def timeouts(self) -> Timeouts:
        """Deadlines by kind of step."""
        return self.bench.timeouts

    def workload(self, name: str) -> Workload | None:
        """Return a workload of the scenario."""
        found = (one for one in self.scenario.workload if one.name == name)
        return next(found, None)

    def object(self, name: str) -> ObjectSpec | None:
        """Return an object of the scenario besides its workload."""
        return self.scenario.objects.get(name)

    def create(self, manifest: Manifest) -> None:
        """Create an object; pods wear what the scheduler asks for."""
        self.objects.create(dressed(manifest, self.dress))

    def wait_for(
        self, what: str, condition: Condition, *, timeout_s: float, stable_s: float = 0
    ) -> None:
        """Wait for a condition, and until no pod has changed for so long."""
        self.bench.observer.wait_for(
            what,
            condition,
            timeout_s=timeout_s,
            quiet_s=stable_s,
            quiet_kinds=("Pod",) if stable_s else (),
        )
