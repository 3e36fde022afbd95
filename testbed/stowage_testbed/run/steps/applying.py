"""Steps that create, change and delete workloads and objects."""

from __future__ import annotations

from stowage_testbed.observe.pod import ObservedPod
from stowage_testbed.observe.state import State
from stowage_testbed.run.steps.course import Course
from stowage_testbed.run.steps.errors import NotThereError, TooFewToEvictError
from stowage_testbed.scenario.manifests import (
    CLUSTER_WIDE,
    controller_manifests,
    object_manifest,
)
from stowage_testbed.scenario.model import Workload
from stowage_testbed.scenario.steps.model import Apply, Delete, Evict, Scale, Usage

USAGE_CPU = "kwok.x-k8s.io/usage-cpu"
USAGE_MEMORY = "kwok.x-k8s.io/usage-memory"
"""Annotations from which KWOK's usage-from-annotation tells what a pod uses."""


def apply(course: Course, step: Apply) -> None:
    """Create workloads and objects in their order."""
    for name in step.names:
        workload, item = course.workload(name), course.object(name)
        if workload is not None:
            for manifest in controller_manifests(workload, course.namespace):
                course.create(manifest)
        elif item is not None:
            course.create(object_manifest(item, course.namespace))


def delete(course: Course, step: Delete) -> None:
    """Delete workloads and objects; pods get the time that they take to end."""
    for name in step.names:
        item, workload = course.object(name), course.workload(name)
        if item is not None:
            namespace = "" if item.kind in CLUSTER_WIDE else course.namespace
            course.objects.delete(item.kind, name, namespace=namespace)
            continue
        if workload is not None:
            for one in workload.controller_names:
                course.objects.delete(workload.kind, one, namespace=course.namespace)
        if workload is None or course.made[name]:
            _delete_bare_pods(course, name)


def scale(course: Course, step: Scale) -> None:
    """Set the number of a workload's pods."""
    workload = _workload(course, step.workload)
    course.objects.patch(
        workload.kind,
        workload.name,
        {"spec": {"replicas": step.to}},
        namespace=course.namespace,
    )


def evict(course: Course, step: Evict) -> None:
    """Evict the first bound pods of a workload by name, on a node if one is named.

    Raises
    ------
    TooFewToEvictError
        There are not so many.
    ApiRefusedError
        A budget forbids it.
    """
    bound = course.bench.observer.read(
        lambda state: [
            pod
            for pod in _pods(state, course, step.workload)
            if pod.bound and pod.live and step.node in {"", pod.node}
        ]
    )
    if len(bound) < step.pods:
        raise TooFewToEvictError(step.workload, step.pods, len(bound))
    for pod in bound[: step.pods]:
        course.objects.evict(pod.name, namespace=course.namespace, uid=pod.uid)


def use(course: Course, step: Usage) -> None:
    """Annotate the pods that a workload has now with what each of them uses."""
    annotations = {}
    if step.cpu_milli is not None:
        annotations[USAGE_CPU] = f"{step.cpu_milli}m"
    if step.memory_bytes is not None:
        annotations[USAGE_MEMORY] = str(step.memory_bytes)
    pods = course.bench.observer.read(
        lambda state: [p for p in _pods(state, course, step.workload) if p.live]
    )
    for pod in pods:
        course.objects.patch(
            "Pod",
            pod.name,
            {"metadata": {"annotations": annotations}},
            namespace=course.namespace,
        )
    course.facts["pods"] = len(pods)


def _workload(course: Course, name: str) -> Workload:
    workload = course.workload(name)
    if workload is None:
        raise NotThereError("workload", name)
    return workload


def _pods(state: State, course: Course, workload: str) -> list[ObservedPod]:
    pods = state.all_pods(course.namespace)
    return [pod for pod in pods if pod.workload == workload]


def _delete_bare_pods(course: Course, workload: str) -> None:
    pods = course.bench.observer.read(lambda state: _pods(state, course, workload))
    for pod in pods:
        course.objects.delete("Pod", pod.name, namespace=course.namespace)
