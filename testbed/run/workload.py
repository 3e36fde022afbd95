"""Submitting a scenario's workload in its order of arrival."""

from __future__ import annotations

from testbed.observe.settled import pods_decided
from testbed.run.bench import Bench
from testbed.run.site import Site
from testbed.scenario.manifests import workload_manifest
from testbed.scenario.model import Scenario

QUIET_S = 0.3
"""No pod may change for so long before a state counts as stable: three times the
longest pause seen between a refused pod's condition and a change that followed."""


def submit(bench: Bench, scenario: Scenario, site: Site) -> None:
    """Create the workload and wait until every pod is bound or found unschedulable.

    In a sequential scenario each workload waits until all pods before it are decided;
    a burst is created at once.
    """
    submitted = 0
    for workload in scenario.workload:
        bench.objects.create(workload_manifest(workload, site.namespace))
        submitted += workload.replicas
        if scenario.arrival == "sequential":
            _await(bench, scenario, site, submitted, quiet_s=0.0)
    _await(bench, scenario, site, submitted, quiet_s=QUIET_S)


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
