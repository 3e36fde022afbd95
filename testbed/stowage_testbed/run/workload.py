"""Submitting a scenario's workload in its order of arrival."""

from __future__ import annotations

from collections.abc import Iterable

from stowage_testbed.observe.settled import pods_decided
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.environment import ScenarioEnvironment
from stowage_testbed.scenario.manifests import workload_manifest
from stowage_testbed.scenario.model import Scenario, Workload

QUIET_S = 0.3
"""No pod may change for so long before a state counts as stable: three times the
longest pause seen between a refused pod's condition and a change that followed."""


def submit(
    context: RunContext, scenario: Scenario, environment: ScenarioEnvironment
) -> None:
    """Create the workload and wait until every pod is bound or found unschedulable.

    In a sequential scenario each workload waits until all pods before it are decided;
    a burst is created at once.
    """
    if scenario.arrival == "sequential":
        submit_in_turn(context, scenario, environment, scenario.workload)
    else:
        for workload in scenario.workload:
            context.objects.create(workload_manifest(workload, environment.namespace))
    _await(context, scenario, environment, scenario.pod_count, quiet_s=QUIET_S)


def submit_in_turn(
    context: RunContext,
    scenario: Scenario,
    environment: ScenarioEnvironment,
    workloads: Iterable[Workload],
) -> None:
    """Create workloads, each when all pods of those before it are decided."""
    submitted = 0
    for workload in workloads:
        context.objects.create(workload_manifest(workload, environment.namespace))
        submitted += workload.replicas
        _await(context, scenario, environment, submitted, quiet_s=0.0)


def _await(
    context: RunContext,
    scenario: Scenario,
    environment: ScenarioEnvironment,
    count: int,
    *,
    quiet_s: float,
) -> None:
    context.observer.wait_for(
        f"{count} pods of {scenario.scenario_id} to be placed or refused",
        pods_decided(environment.namespace, count),
        timeout_s=context.timeouts.settle_s(scenario),
        quiet_s=quiet_s,
        quiet_kinds=("Pod",),
    )
