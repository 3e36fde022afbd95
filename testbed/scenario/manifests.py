"""From the model to the API's objects, for a cluster and for `stowage-simulate`."""

from __future__ import annotations

from typing import Any

from testbed.scenario.model import Scenario, Workload

Manifest = dict[str, Any]

WORKLOAD_LABEL = "stowage.dev/workload"
"""Label of pods and controllers: the workload's name in the scenario."""

CONTAINER = "main"
"""Name of the container that a workload's cpu, memory and image describe."""


def priority_class_name(priority: int) -> str:
    """Return the name of the PriorityClass of a priority."""
    return f"stowage-{'minus-' if priority < 0 else ''}{abs(priority)}"


def priority_class_manifests(scenario: Scenario) -> list[Manifest]:
    """Return a PriorityClass for each priority of the workload; 0 needs none."""
    priorities = {workload.priority for workload in scenario.workload} - {0}
    return [priority_class_manifest(priority) for priority in sorted(priorities)]


def priority_class_manifest(priority: int) -> Manifest:
    """Return the PriorityClass of a priority."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": priority_class_name(priority)},
        "value": priority,
        "description": "A priority of a Stowage scenario.",
    }


def workload_manifest(workload: Workload, namespace: str) -> Manifest:
    """Return the ReplicaSet or Deployment; it and its pods carry `WORKLOAD_LABEL`."""
    labels = {WORKLOAD_LABEL: workload.name}
    return {
        "apiVersion": "apps/v1",
        "kind": workload.kind,
        "metadata": {
            "name": workload.name,
            "namespace": namespace,
            "labels": dict(labels),
        },
        "spec": {
            "replicas": workload.replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": _pod_metadata(workload),
                "spec": pod_spec(workload),
            },
        },
    }


def pod_spec(workload: Workload) -> Manifest:
    """Return the spec of a workload's pods."""
    spec: Manifest = {
        "containers": [_container(workload)],
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
    }
    if workload.priority:
        spec["priorityClassName"] = priority_class_name(workload.priority)
    return spec | dict(workload.pod)


def pod_manifests(scenario: Scenario, namespace: str) -> list[Manifest]:
    """Return the pods in the order of arrival, as `stowage-simulate` reads them.

    What the API server's admission would fill in is filled in: names, priorities.
    """
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                **_pod_metadata(workload),
                "name": f"{workload.name}-{number}",
                "namespace": namespace,
            },
            "spec": {**pod_spec(workload), "priority": workload.priority},
        }
        for workload in scenario.workload
        for number in range(workload.replicas)
    ]


def node_manifests(scenario: Scenario) -> list[Manifest]:
    """Return the nodes in their order; clusters and `stowage-simulate` read them."""
    return [manifest for pool in scenario.nodes for manifest in pool.manifests()]


def _pod_metadata(workload: Workload) -> Manifest:
    metadata: Manifest = {"labels": {**workload.labels, WORKLOAD_LABEL: workload.name}}
    if workload.annotations:
        metadata["annotations"] = dict(workload.annotations)
    return metadata


def _container(workload: Workload) -> Manifest:
    requests = {}
    if workload.cpu_milli:
        requests["cpu"] = f"{workload.cpu_milli}m"
    if workload.memory_bytes:
        requests["memory"] = str(workload.memory_bytes)
    container: Manifest = {"name": CONTAINER, "image": workload.image}
    return {**container, "resources": {"requests": requests}} if requests else container
