"""Submitting a scenario's workload in its order of arrival."""

from __future__ import annotations

from collections.abc import Iterable

from stowage_testbed.observe.settled import pods_decided
from stowage_testbed.run.bench import Bench
from stowage_testbed.run.site import Site
from stowage_testbed.scenario.manifests import workload_manifest
from stowage_testbed.scenario.model import Scenario, Workload

QUIET_S = 0.3
"""No pod may change for so long before a state counts as stable: three times the
longest pause seen between a refused pod's condition and a change that followed."""


def submit(bench: Bench, scenario: Scenario, site: Site) -> None:
    """Create the workload and wait until every pod is bound or found unschedulable.

    In a sequential scenario each workload waits until all pods before it are decided;
    a burst is created at once.
    """
    if scenario.arrival == "sequential":
        submit_in_turn(bench, scenario, site, scenario.workload)
    else:
        for workload in scenario.workload:
            bench.objects.create(workload_manifest(workload, site.namespace))
    _await(bench, scenario, site, scenario.pod_count, quiet_s=QUIET_S)


def submit_in_turn(
    bench: Bench, scenario: Scenario, site: Site, workloads: Iterable[Workload]
) -> None:
    """Create workloads, each when all pods of those before it are decided."""
    submitted = 0
    for workload in workloads:
        bench.objects.create(workload_manifest(workload, site.namespace))
        submitted += workload.replicas
        _await(bench, scenario, site, submitted, quiet_s=0.0)


def _await(
    bench: Bench, scenario: Scenario, site: Site, count: int, *, quiet_s: float
) -> None:
    bench.observer.wait_for(
        f"{count} pods of {scenario.scenario_id} to be placed or refused",
        pods_decided(site.namespace, count),
        timeout_s=bench.timeouts.settle_s(scenario),
        quiet_s=quiet_s,
        quiet_kinds=("Pod",),
    )
