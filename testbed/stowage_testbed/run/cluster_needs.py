"""What the cluster must be like that scenarios are to run on."""

from __future__ import annotations

from collections.abc import Iterable

from stowage_testbed.base.errors import InputError
from stowage_testbed.cluster.backend import CANNOT, Backend, Need
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.choice import new_cluster
from stowage_testbed.cluster.components import CONTROLLER_MANAGER
from stowage_testbed.cluster.kwok_binary import KwokBinaryCluster
from stowage_testbed.cluster.kwokctl_config import ExtraArgs
from stowage_testbed.hpa.settings import Timing
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps.nodes import Interrupt
from stowage_testbed.scenario.steps.waiting import Overload


def find_missing(backend: Backend, scenario: Scenario) -> str:
    """Return why a scenario cannot run on a kind of cluster; empty if it can."""
    for need, kind in ((Need.USAGE, Overload), (Need.PROCESSES, Interrupt)):
        why = CANNOT[backend].get(need)
        if why and any(isinstance(step.action, kind) for step in scenario.steps):
            return f"{backend} has no {need}: {why}"
    return ""


def measures_usage(backend: Backend, scenarios: Iterable[Scenario]) -> bool:
    """Return whether a cluster for scenarios measures the usage of pods."""
    return Need.USAGE not in CANNOT[backend] and any(
        isinstance(step.action, Overload) for scenario in scenarios for step in scenario.steps
    )


def make_cluster(
    name: str, scenarios: Iterable[Scenario], backend: Backend = Backend.KWOK_BINARY, minor: str | None = None
) -> Cluster:
    """Return a cluster, not yet up, that suits every scenario that can run there.

    Raises
    ------
    InputError
        Two of them overload a service, and measure its usage at different times.
    """
    needs = {
        scenario.scenario_id: step.action.settings.timing
        for scenario in scenarios
        for step in scenario.steps
        if isinstance(step.action, Overload)
    }
    if not needs or Need.USAGE in CANNOT[backend]:
        return new_cluster(backend, name, minor=minor)
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
    return make_recovery_cluster(name, timing, minor)


def make_autoscaler_arguments(timing: Timing) -> ExtraArgs:
    """Return the arguments of the autoscaler's controller."""
    sync = {"horizontal-pod-autoscaler-sync-period": f"{timing.sync_s}s"}
    return {CONTROLLER_MANAGER: sync}


def make_recovery_cluster(name: str, timing: Timing, minor: str | None = None) -> KwokBinaryCluster:
    """Return a cluster, not yet up, on which runs with this timing can be made."""
    return KwokBinaryCluster(
        name, minor=minor, extra_args=make_autoscaler_arguments(timing), resolution_s=timing.resolution_s
    )
