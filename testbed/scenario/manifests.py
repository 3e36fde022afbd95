"""From the model to the API's objects, for a cluster and for `stowage-simulate`."""

from __future__ import annotations

from testbed.scenario.model import Scenario, Workload

Manifest = dict[str, object]


def priority_classes(scenario: Scenario) -> list[Manifest]:
    """Return one PriorityClass for each priority of the workload other than 0."""
    raise NotImplementedError


def workload_manifest(workload: Workload, namespace: str) -> Manifest:
    """Return the ReplicaSet or Deployment; its pods carry `stowage.dev/workload`."""
    raise NotImplementedError
