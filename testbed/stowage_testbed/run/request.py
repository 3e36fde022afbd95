"""What a run is asked to do, and how many scenarios run at a time."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from stowage_testbed.base.errors import InputError
from stowage_testbed.cluster.backend import CANNOT, CLUSTER_TOOLS, Backend, Need
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.choice import new_cluster
from stowage_testbed.cluster.components import CONTROLLER_MANAGER, METRICS_SERVER
from stowage_testbed.cluster.feature_gates import DEFAULTS, FeatureGates
from stowage_testbed.cluster.interruption import ending_cleanly
from stowage_testbed.cluster.kwok_binary import KwokBinaryCluster
from stowage_testbed.cluster.kwokctl_config import ExtraArgs
from stowage_testbed.hpa.settings import Timing
from stowage_testbed.optimizer_service.compiled import compile_optimizer
from stowage_testbed.scenario.load import select
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps.action import actions_of
from stowage_testbed.scenario.steps.interrupting import Interrupt
from stowage_testbed.scenario.steps.overloading import Overload
from stowage_testbed.toolchain import choose_minor, install_tools

DEFAULT_VARIANT = "default"
"""Names the run of a scenario without any variant."""

APART = frozenset({"full", "metrics"})
"""Labels of scenarios that run only if they are asked for: those that take long, and those that need a cluster that
measures usage."""

SIMULATOR = "stowage-simulate"


@dataclass(frozen=True, slots=True)
class RunRequest:
    """Scenarios, rounds, and the cluster to run on.

    `cluster` names one that is up; without it the run makes its own, of a `backend` and `minor` of Kubernetes, and
    leaves it up with `keep_cluster`. `folders` are where results are written. Of `jobs`, which run at a time, each has
    a cluster of its own. `features` are what its own cluster has beyond the defaults.
    """

    scenarios: tuple[Scenario, ...]
    repeat: int = 1
    cluster: str | None = None
    keep_cluster: bool = False
    backend: Backend = Backend.KWOK_BINARY
    folders: tuple[Path, ...] = ()
    minor: str | None = None
    jobs: int = 1
    features: FeatureGates = DEFAULTS

    @property
    def total(self) -> int:
        """Number of scenario runs."""
        return len(self.scenarios) * self.repeat


def choose_scenarios(
    asked: Sequence[str], *, folder: Path, variant: str | None = None, labels: Sequence[str] = ()
) -> tuple[Scenario, ...]:
    """Read and check every scenario that is meant; words, folder and labels are as `load.select` takes them.

    A `variant` narrows the choice to one of each scenario; ``default`` is the run without one. A scenario with the
    label `full` or `metrics` is chosen only by that label or by its own name. It is an InputError if no scenario has
    the variant, or nothing was chosen.
    """
    found = select(asked, folder=folder, labels=labels)
    named = {item.name for word in asked for item in found if _is_meant(word, item)}
    apart = APART - set(labels)
    chosen = tuple(i for i in found if not apart & set(i.labels) or i.name in named)
    if variant is not None:
        known = sorted({item.variant or DEFAULT_VARIANT for item in chosen})
        if variant not in known:
            raise InputError(f"no chosen scenario has a variant {variant!r}; there are: {', '.join(known) or 'none'}")
        chosen = tuple(item for item in chosen if (item.variant or DEFAULT_VARIANT) == variant)
    if not chosen:
        raise InputError("no scenario was chosen; name a file, a folder or a name that `stowage scenario list` prints")
    return chosen


def _is_meant(word: str, scenario: Scenario) -> bool:
    """Return whether a word means this very scenario, and not one of many."""
    path = Path(word)
    if path.suffix in {".yaml", ".yml"}:
        return scenario.path is not None and path.resolve() == scenario.path.resolve()
    return word in {scenario.name, scenario.scenario_id}


def find_missing(backend: Backend, scenario: Scenario) -> str:
    """Return why a scenario cannot run on a kind of cluster; empty if it can."""
    for need, kind in ((Need.USAGE, Overload), (Need.PROCESSES, Interrupt)):
        why = CANNOT[backend].get(need)
        if why and any(actions_of(scenario.steps, kind)):
            return f"{backend} has no {need}: {why}"
    return ""


def make_cluster(
    name: str,
    scenarios: Iterable[Scenario],
    backend: Backend = Backend.KWOK_BINARY,
    minor: str | None = None,
    features: FeatureGates = DEFAULTS,
) -> Cluster:
    """Return a cluster, not yet up, that suits every scenario that can run there.

    It is an InputError if two of them overload a service, and measure its usage at different times.
    """
    needs = {one.scenario_id: step.settings.timing for one in scenarios for step in actions_of(one.steps, Overload)}
    if not needs or Need.USAGE in CANNOT[backend]:
        return new_cluster(backend, name, minor=minor, features=features)
    timing, *others = set(needs.values())
    if others:
        listed = [
            f"{who} needs usage measured every {what.resolution_s} s and looked at every {what.sync_s} s"
            for who, what in needs.items()
        ]
        raise InputError(
            f"no cluster suits all of them: {'; '.join(listed)}; run them apart, as in "
            "`stowage run SCENARIO --variant VARIANT`"
        )
    arguments = make_autoscaler_arguments(timing)
    return KwokBinaryCluster(
        name, minor=minor, features=features, extra_args=arguments, resolution_s=timing.resolution_s
    )


def make_autoscaler_arguments(timing: Timing) -> ExtraArgs:
    """Return the arguments of the autoscaler's controller."""
    return {CONTROLLER_MANAGER: {"horizontal-pod-autoscaler-sync-period": f"{timing.sync_s}s"}}


def install_needed(*names: str, minor: str | None = None, optimizer: bool = True) -> None:
    """Install what is missing, as `stowage tools install` does beforehand.

    Those are tools that go with a minor of Kubernetes and, for whoever asks the optimiser, compiled hot loops.
    Everything that needs any begins with it, so that nothing is built without a word.
    """
    # Else a build would go on that nobody waits for.
    with ending_cleanly():
        if names:
            install_tools(names, minor=minor)
        if optimizer:
            compile_optimizer()


def list_tools(backend: Backend, scenarios: Sequence[Scenario]) -> tuple[str, ...]:
    """Return the tools without which no cluster for scenarios comes up."""
    overloads = (one for scenario in scenarios for one in actions_of(scenario.steps, Overload))
    measured = Need.USAGE not in CANNOT[backend] and any(overloads)
    return (*CLUSTER_TOOLS[backend], *((METRICS_SERVER,) if measured else ()))


CLUSTER_BYTES = 1536 << 20
"""Room for a cluster with a few hundred pods, its release and the process that uses it: an estimate."""

CLUSTERS_A_CORE = 1.5
"""A scenario waits more than it works: one at a time takes 0.4 of a core, three at a
time on two cores took 80 s where two took 91 and one 150."""

TASKS_A_CLUSTER = 4
"""A cluster takes as long to come up as a small scenario or two."""


@dataclass(frozen=True, slots=True)
class Task:
    """One scenario in one round; ``place`` is its place in the report, from 0."""

    place: int
    scenario: Scenario
    repeat: int


def list_tasks(request: RunRequest) -> tuple[Task, ...]:
    """Return every scenario in every round, in the order of the report: one cluster after the other."""
    runs = [(scenario, repeat) for repeat in range(1, request.repeat + 1) for scenario in request.scenarios]
    clusters = list(dict.fromkeys((DEFAULTS, *(one.features for one in request.scenarios))))
    runs.sort(key=lambda run: clusters.index(run[0].features))
    return tuple(Task(place, *run) for place, run in enumerate(runs))


def choose_features(request: RunRequest, scenario: Scenario) -> FeatureGates:
    """Return what a scenario's cluster has beyond the defaults: what it asks for, if the minor can have that."""
    refused = request.cluster is not None or scenario.features.find_refusal(choose_minor(request.minor))
    return DEFAULTS if refused else scenario.features


def narrow_to(request: RunRequest, features: FeatureGates) -> RunRequest:
    """Return what is asked of the cluster with some features."""
    same = tuple(one for one in request.scenarios if choose_features(request, one) == features)
    return replace(request, scenarios=same, features=features)


def needs_machine(scenario: Scenario) -> bool:
    """Return whether others beside it could change its verdict: figures have bounds."""
    return bool(scenario.expect.metrics) or any(actions_of(scenario.steps, Overload))


def choose_jobs(request: RunRequest, asked: int | None) -> int:
    """Return how many scenarios to run at a time."""
    if request.cluster is not None and asked is not None and asked > 1:
        raise InputError(f"{asked} scenarios at a time need {asked} clusters: leave --cluster or --jobs out")
    together = sum(not needs_machine(one.scenario) for one in list_tasks(request))
    if asked is not None:
        return max(1, min(asked, together))
    if request.cluster is not None or request.keep_cluster or request.backend is not Backend.KWOK_BINARY:
        return 1
    return choose_number(together, len(os.sched_getaffinity(0)), psutil.virtual_memory().available)


def choose_number(tasks: int, cores: int, free_bytes: int) -> int:
    """Return how many clusters so many tasks, cores and bytes are good for."""
    good_for = int(cores * CLUSTERS_A_CORE)
    return max(1, min(good_for, free_bytes // CLUSTER_BYTES, tasks // TASKS_A_CLUSTER))
