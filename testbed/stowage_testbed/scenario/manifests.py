"""From the model to the API's objects, for a cluster, and for `stowage-simulate`, which places them without one."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import ceil
from typing import TYPE_CHECKING

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.pod_templates import ENDS_IN, LIFETIME, add_metadata, change_pods, spell_duration
from stowage_testbed.observe.pod import WORKLOAD_LABEL
from stowage_testbed.observe.pod_group import POD_GROUP, POD_GROUP_VERSION

if TYPE_CHECKING:
    from stowage_testbed.scenario.model import Scenario, Workload

SCALED = frozenset({"ReplicaSet", "Deployment", "StatefulSet"})  # Kinds of workload whose number of pods can be changed

CONTROLLER_LABEL = "stowage.dev/controller"
"""Label of pods and controllers of a workload that has several: the controller."""

OVERSUBSCRIBED = ("cpu", "memory", "ephemeral-storage")  # The resources that may be given out twice
_BATCH = frozenset({"Job", "CronJob"})  # Kinds of workload whose pods are done one day
SHORTEST_GRACE_S = 1  # With one a fake pod takes a moment to end, which KWOK's stages define
CONTAINER = "main"  # Name of the container that a workload's cpu, memory and image describe


def name_priority_class(priority: int) -> str:
    """Return the name of the PriorityClass of a priority."""
    return f"stowage-{'minus-' if priority < 0 else ''}{abs(priority)}"


def make_priority_classes(scenario: Scenario) -> list[Manifest]:
    """Return a PriorityClass for each priority of the pods; 0 needs none."""
    return [make_priority_class(one) for one in scenario.priorities if one]


def make_priority_class(priority: int) -> Manifest:
    """Return the PriorityClass of a priority."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name_priority_class(priority)},
        "value": priority,
        "description": "A priority of a Stowage scenario.",
    }


def make_controllers(workload: Workload, namespace: str) -> list[Manifest]:
    """Return each of a workload's controllers.

    Pods of one are none of the others'. Without controllers, return its pods.
    """
    if workload.kind == "Pod":
        return [make_bare_pod(workload, name, namespace) for name in workload.controller_names]
    if workload.controllers == 1:
        return [make_controller(workload, namespace)]
    manifests = []
    for name in workload.controller_names:
        manifest = make_controller(workload, namespace)
        manifest["metadata"]["name"] = name
        own = {CONTROLLER_LABEL: name}
        manifest["metadata"]["labels"].update(own)
        if "selector" in manifest["spec"]:
            manifest["spec"]["selector"]["matchLabels"].update(own)
        manifest = change_pods(manifest, partial(add_metadata, labels=own))
        manifests.append(change_pods(manifest, partial(_move_to_group, name=name)) if workload.gang else manifest)
    return manifests


def _move_to_group(pod: Manifest, name: str) -> Manifest:
    return {**pod, "spec": {**pod["spec"], "schedulingGroup": {"podGroupName": name}}}


def make_groups(workload: Workload, namespace: str) -> list[Manifest]:
    """Return the PodGroups of a workload, one for each of its controllers; none unless its pods are gangs."""
    if workload.gang is None:
        return []
    spec: Manifest = {
        "schedulingPolicy": {"gang": {"minCount": workload.gang.minCount}},
        "disruptionMode": {workload.gang.disruption: {}},
    }
    if workload.gang.topologyKey:
        spec["schedulingConstraints"] = {"topology": [{"key": workload.gang.topologyKey}]}
    if workload.priority:
        spec["priorityClassName"] = name_priority_class(workload.priority)
    names = (workload.name,) if workload.kind == "Pod" else workload.controller_names
    return [
        {
            "apiVersion": POD_GROUP_VERSION,
            "kind": POD_GROUP,
            "metadata": {"name": name, "namespace": namespace, "labels": {WORKLOAD_LABEL: workload.name}},
            "spec": spec,
        }
        for name in names
    ]


def make_controller(workload: Workload, namespace: str) -> Manifest:
    """Return the controller; it and its pods carry `WORKLOAD_LABEL`."""
    spec: Manifest = {"template": {"metadata": _make_pod_metadata(workload), "spec": _make_pod_spec(workload)}}
    if workload.kind in _BATCH:
        spec = {"parallelism": workload.replicas, "completions": workload.replicas, **spec}
        if workload.kind == "CronJob":
            spec = {"jobTemplate": {"spec": spec}}
    else:
        spec = {"selector": {"matchLabels": {WORKLOAD_LABEL: workload.name}}, **spec}
    if workload.kind in SCALED:
        spec = {"replicas": workload.replicas, **spec}
    if workload.kind == "StatefulSet":
        spec["serviceName"] = workload.name
    return {
        "apiVersion": "batch/v1" if workload.kind in _BATCH else "apps/v1",
        "kind": workload.kind,
        "metadata": {"name": workload.name, "namespace": namespace, "labels": {WORKLOAD_LABEL: workload.name}},
        "spec": {**spec, **workload.spec},
    }


def _make_pod_spec(workload: Workload) -> Manifest:
    grace_s = ceil(workload.ends_in_s)
    if workload.kind == "StatefulSet":
        # Without grace a pod is gone before anybody can see it end, and its name is back at once: Kubernetes forbids
        # that to StatefulSets, and the disruption controller may take the new pod for the one that was evicted.
        grace_s = max(grace_s, SHORTEST_GRACE_S)
    asked = workload.requests
    resources: Manifest = {"requests": asked.quantities()} if asked else {}
    # Of others no node can give more than it has, so that the API wants a limit.
    if firm := asked.without(*OVERSUBSCRIBED):
        resources["limits"] = firm.quantities()
    container: Manifest = {"name": CONTAINER, "image": workload.image}
    spec: Manifest = {
        "containers": [{**container, "resources": resources} if resources else container],
        "terminationGracePeriodSeconds": grace_s,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
    }
    if workload.kind in _BATCH:
        spec["restartPolicy"] = "Never"
    if workload.priority:
        spec["priorityClassName"] = name_priority_class(workload.priority)
    if workload.gang:
        spec["schedulingGroup"] = {"podGroupName": workload.name}
    return spec | dict(workload.pod)


def make_bare_pod(workload: Workload, name: str, namespace: str, lifetime_s: float | None = None) -> Manifest:
    """Return a pod like a workload's, without a controller, that runs for ``lifetime_s`` if given."""
    if lifetime_s is not None:
        workload = replace(workload, runs_s=lifetime_s)
    metadata = _make_pod_metadata(workload)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**metadata, "name": name, "namespace": namespace},
        "spec": _make_pod_spec(workload),
    }


def _make_pod_metadata(workload: Workload) -> Manifest:
    metadata: Manifest = {"labels": {**workload.labels, WORKLOAD_LABEL: workload.name}}
    annotations = dict(workload.annotations)
    if workload.ends_in_s:
        annotations[ENDS_IN] = spell_duration(workload.ends_in_s)
    if workload.runs_s is not None:
        annotations[LIFETIME] = spell_duration(workload.runs_s)
    if annotations:
        metadata["annotations"] = annotations
    return metadata
