"""From the lines of a trace to what happens in virtual time.

No controller runs there, so pods come and go as recorded; only a running time counts from the binding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stowage_testbed.observe.change import JsonObject
from stowage_testbed.simulate.virtual_time import Event
from stowage_testbed.trace import format as trace
from stowage_testbed.trace.reading import Life, Trace, pair_lives

_READ = frozenset(
    {
        "CSIDriver", "CSINode", "CSIStorageCapacity", "DeviceClass", "DeviceTaintRule",
        "PersistentVolume", "PersistentVolumeClaim", "PodDisruptionBudget",
        "ReplicaSet", "ReplicationController", "ResourceClaim", "ResourceSlice",
        "Service", "StatefulSet", "StorageClass", "VolumeAttachment",
    }
)  # fmt: skip
"""Kinds that placing a pod depends on, by the scheduler's own reading."""

_BATCH = frozenset({"Job", "CronJob"})
_BOUND_CLAIM = "pv.kubernetes.io/bind-completed"


def make_events(recorded: Trace) -> Iterator[Event]:
    """Yield the events of a trace, in the order of its lines."""
    for name, labels in recorded.header.namespaces.items():
        metadata = {"name": name, "labels": labels}
        yield {"at": 0.0, "namespace": {"metadata": metadata}}
    lives = pair_lives(recorded.lines)
    taken = {id(one.end) for one in lives.values() if one.end and _is_taken(one, one.end)}
    classes = list_priorities(recorded.lines)
    for line in recorded.lines:
        event: Event = {}
        match line:
            case trace.Template(id=name, template=made):
                metadata = {"labels": made.labels, "annotations": made.annotations}
                pod = {"metadata": metadata, "spec": resolve_priority(made.spec, classes)}
                event = {"template": {"id": name, "pod": pod}}
            case trace.NodeSeen():
                event = {"node": make_node(line)}
            case trace.NodeGone():
                event = {"nodeGone": line.name}
            case trace.ObjectSeen() if _stand_in(line.object["kind"]) in _READ:
                event = {"object": _make_object(line.object)}
            case trace.ObjectGone() if (kind := _stand_in(line.kind)) in _READ:
                event = {"objectGone": {"kind": kind, "namespace": line.namespace, "name": line.name}}
            case trace.PodCame():
                event = {"pod": _make_arrival(lives[id(line)])}
            case trace.PodEnded() if id(line) in taken:
                event = {"podGone": f"{line.namespace}/{line.name}"}
        if event:
            yield {"at": line.t, **event}
    if recorded.lines:
        yield {"at": recorded.lines[-1].t}


def make_node(seen: trace.NodeSeen) -> JsonObject:
    """Return a node as the API server has it."""
    return {
        "metadata": {"name": seen.name, "labels": seen.node.labels},
        "spec": {"taints": seen.node.taints, "unschedulable": seen.node.unschedulable},
        "status": {"capacity": seen.node.capacity, "allocatable": seen.node.allocatable},
    }


def list_priorities(lines: Sequence[trace.Line]) -> dict[str, int]:
    """Return the values of the recorded priority classes by name."""
    return {
        line.object["metadata"]["name"]: line.object.get("value", 0)
        for line in lines
        if isinstance(line, trace.ObjectSeen) and line.object["kind"] == "PriorityClass"
    }


def resolve_priority(spec: dict[str, Any], classes: Mapping[str, int]) -> dict[str, Any]:
    """Return the spec with what admission makes of the name of a class."""
    return {**spec, "priority": spec.get("priority", classes.get(spec.get("priorityClassName", ""), 0))}


def _stand_in(kind: str) -> str:
    """Return the kind whose selector the scheduler reads for a controller's pods."""
    return "ReplicaSet" if kind == "Deployment" else kind


def _make_object(recorded: JsonObject) -> JsonObject:
    """Return an object as the scheduler reads it."""
    kind, metadata = recorded["kind"], recorded["metadata"]
    made = {**recorded, "kind": _stand_in(kind)}
    if kind == "Deployment":
        made["spec"] = {"selector": recorded["spec"]["selector"]}
    if kind == "PersistentVolumeClaim" and recorded["spec"].get("volumeName"):
        # What the volume controller notes, and traces leave out.
        notes = {**metadata.get("annotations", {}), _BOUND_CLAIM: "yes"}
        made["metadata"] = {**metadata, "annotations": notes}
    return made


def _make_arrival(life: Life) -> dict[str, Any]:
    came, end = life.came, life.end
    node = life.node if life.bound == 0 else ""
    arrival: dict[str, Any] = {
        "name": f"{came.namespace}/{came.name}",
        "of": came.of,
        "node": node,
        # What another scheduler preempted, this one did not.
        "how": end.how.replace("preempted", "deleted") if end else "",
    }
    if came.owner:
        arrival["owner"] = {
            "apiVersion": "batch/v1" if came.owner.kind in _BATCH else "apps/v1",
            "kind": _stand_in(came.owner.kind),
            "name": came.owner.name,
        }
    if end and _runs_to_its_end(life, end):
        # One that ran before the recording began has the rest of its time left.
        arrival["lives"] = end.t if node else end.ran_s
    return arrival


def _is_taken(life: Life, end: trace.PodEnded) -> bool:
    """Return whether the pod goes when it went; a bare pod that another scheduler preempted stays."""
    bare = life.came.owner is None
    return not _runs_to_its_end(life, end) and not (bare and end.how == "preempted")


def _runs_to_its_end(life: Life, end: trace.PodEnded) -> bool:
    return life.is_done and end.ran_s is not None
