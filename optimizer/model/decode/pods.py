"""Decoding pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from optimizer.contract import optimizer_pb2 as pb
from optimizer.model.decode.faults import Faults
from optimizer.model.pod_class import PodClass
from optimizer.model.snapshot import Pod


def decode_pods(
    messages: Iterable[pb.Pod],
    classes: Mapping[str, PodClass],
    nodes: set[str],
    faults: Faults,
) -> tuple[Pod, ...]:
    """Return the pods in their order; UIDs and names must be unique."""
    uids: set[str] = set()
    names: set[str] = set()
    pods = []
    for index, message in enumerate(messages):
        where = f"pods[{index}]"
        faults.require(f"{where}.uid", message.uid)
        faults.require(f"{where}.name", message.name)
        faults.unique(f"{where}.uid", "pod UID", uids, message.uid)
        full_name = f"{message.namespace}/{message.name}"
        faults.unique(f"{where}.name", "pod", names, full_name)
        if message.age_s < 0:
            faults.add(f"{where}.age_s", f"is negative ({message.age_s})")
        _check_class(where, message, classes, faults)
        if message.node:
            faults.known(f"{where}.node", "node", nodes, message.node)
        pods.append(_pod(message))
    return tuple(pods)


def _check_class(
    where: str, message: pb.Pod, classes: Mapping[str, PodClass], faults: Faults
) -> None:
    pod_class = classes.get(message.class_id)
    if pod_class is None:
        faults.known(f"{where}.class_id", "class", classes, message.class_id)
    elif message.namespace != pod_class.namespace:
        faults.add(
            f"{where}.namespace",
            f"is {message.namespace!r}, but class {pod_class.id!r} is of "
            f"namespace {pod_class.namespace!r}",
        )


def _pod(message: pb.Pod) -> Pod:
    return Pod(
        uid=message.uid,
        namespace=message.namespace,
        name=message.name,
        class_id=message.class_id,
        node=message.node or None,
        movable=message.movable,
        immovable_reason=message.immovable_reason,
        deletion_cost=message.deletion_cost,
        age_s=message.age_s,
    )
