"""Decoding pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.decode.issues import Issues
from stowage_optimizer.model.pod_class import PodClass
from stowage_optimizer.model.snapshot import Pod


def decode_pods(
    messages: Iterable[pb.Pod],
    classes: Mapping[str, PodClass],
    nodes: set[str],
    issues: Issues,
) -> tuple[Pod, ...]:
    """Return the pods in their order; UIDs and names must be unique."""
    uids: set[str] = set()
    names: set[str] = set()
    pods = []
    for index, message in enumerate(messages):
        pod = _pod(message)
        pods.append(pod)
        full_name = f"{pod.namespace}/{pod.name}"
        # Nearly all are sound: what is wrong is looked for in the others only.
        if not (
            pod.uid
            and pod.name
            and pod.uid not in uids
            and full_name not in names
            and pod.age_s >= 0
            and (pod.node is None or pod.node in nodes)
            and (pod_class := classes.get(pod.class_id)) is not None
            and pod_class.namespace == pod.namespace
        ):
            where = f"pods[{index}]"
            issues.unique(f"{where}.uid", "pod UID", uids, pod.uid)
            issues.unique(f"{where}.name", "pod", names, full_name)
            _check(where, pod, classes, nodes, issues)
        uids.add(pod.uid)
        names.add(full_name)
    return tuple(pods)


def _check(
    where: str,
    pod: Pod,
    classes: Mapping[str, PodClass],
    nodes: set[str],
    issues: Issues,
) -> None:
    issues.require(f"{where}.uid", pod.uid)
    issues.require(f"{where}.name", pod.name)
    if pod.age_s < 0:
        issues.add(f"{where}.age_s", f"is negative ({pod.age_s})")
    pod_class = classes.get(pod.class_id)
    if pod_class is None:
        issues.known(f"{where}.class_id", "class", classes, pod.class_id)
    elif pod.namespace != pod_class.namespace:
        issues.add(
            f"{where}.namespace",
            f"is {pod.namespace!r}, but class {pod_class.id!r} is of "
            f"namespace {pod_class.namespace!r}",
        )
    if pod.node is not None:
        issues.known(f"{where}.node", "node", nodes, pod.node)


def _pod(message: pb.Pod) -> Pod:
    return Pod(
        message.uid,
        message.namespace,
        message.name,
        message.class_id,
        message.node or None,
        message.movable,
        message.immovable_reason,
        message.deletion_cost,
        message.age_s,
    )
