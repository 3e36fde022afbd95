"""How much of the nodes is free, and how much of that no pod can use."""

from __future__ import annotations

import numpy as np

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.metrics.fragmentation import FreeRoom, Shape, stranded
from stowage_testbed.metrics.state import RESOURCES, Resource
from stowage_testbed.whatif.findings import Room


def rooms(snapshot: pb.Snapshot) -> tuple[Room, ...]:
    """Return each resource; what the cluster's own pods request says what fits."""
    free = free_room_of(snapshot)
    shapes = [
        Shape(one.requests.cpu_milli, one.requests.memory_bytes)
        for one in snapshot.pod_classes
    ]
    return tuple(
        Room(
            resource=resource,
            capacity=free.capacity[resource],
            free=int(free.free[resource].sum()),
            stranded=stranded(free, shapes, resource),
        )
        for resource in RESOURCES
    )


def free_room_of(snapshot: pb.Snapshot) -> FreeRoom:
    """Return what the running pods leave free on each node."""
    places = {node.name: place for place, node in enumerate(snapshot.nodes)}
    size = {
        resource: np.array(
            [_amount(resource, node.allocatable) for node in snapshot.nodes], np.int64
        )
        for resource in RESOURCES
    }
    slots = np.array([node.allocatable.pods for node in snapshot.nodes], np.int64)
    free = {resource: size[resource].copy() for resource in RESOURCES}
    requests = {one.id: one.requests for one in snapshot.pod_classes}
    for pod in snapshot.pods:
        if pod.node in places:
            place = places[pod.node]
            slots[place] -= 1
            for resource in RESOURCES:
                free[resource][place] -= _amount(resource, requests[pod.class_id])
    return FreeRoom(
        free={resource: np.maximum(free[resource], 0) for resource in RESOURCES},
        pods=np.maximum(slots, 0),
        capacity={resource: int(size[resource].sum()) for resource in RESOURCES},
    )


def _amount(resource: Resource, of: pb.Resources) -> int:
    return of.cpu_milli if resource == "cpu" else of.memory_bytes
