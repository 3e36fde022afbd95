"""What the nodes have, what is requested of it, and what nobody can use any more."""

from __future__ import annotations

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.amounts.message import resources_of
from stowage_testbed.amounts.resources import ONE_POD, Resources
from stowage_testbed.metrics.free_room import FreeRoom
from stowage_testbed.whatif.findings import Room

DEVICE_CLASS_RESOURCE = "device-class-resource "
"""Begins the need of a pod for an extended resource that some device class serves."""


def rooms(snapshot: pb.Snapshot) -> tuple[Room, ...]:
    """Return cpu, memory and each other resource that some node has.

    What the cluster's own pods request says what fits. Only amounts count: neither
    selectors nor taints do.
    """
    takes = {one.id: resources_of(one.requests) + ONE_POD for one in snapshot.pod_classes}
    there = FreeRoom(
        {node.name: resources_of(node.allocatable) for node in snapshot.nodes},
        ((pod.node, takes[pod.class_id]) for pod in snapshot.pods if pod.node),
    )
    shapes = {_on_nodes(one, takes[one.id]) for one in snapshot.pod_classes}
    return tuple(
        Room(
            resource=name,
            capacity=sum(size.tolist()),
            free=sum(free.tolist()),
            stranded=there.count_stranded(shapes, name),
            nodes=int((size > 0).sum()),
            free_nodes=int((free > 0).sum()),
            largest_free=int(free.max(initial=0)),
        )
        for name in there.names
        for size, free in [(there.size[name], there.free[name])]
        if size.any()
    )


def _on_nodes(one: pb.PodClass, takes: Resources) -> Resources:
    """Return what a pod takes of what nodes list: devices may be had elsewhere too."""
    devices = (
        need.removeprefix(DEVICE_CLASS_RESOURCE) for need in one.unsupported if need.startswith(DEVICE_CLASS_RESOURCE)
    )
    return takes.without(*devices)
