"""Nodes: what they have left, which are in use, and how others are emptied.

A node is in use if it holds a pod that would not go with it, or if autoscalers may not remove it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.amounts.message import resources_of
from stowage_testbed.amounts.resources import ONE_POD, Resources
from stowage_testbed.metrics.free_room import FreeRoom
from stowage_testbed.text.lines import count
from stowage_testbed.whatif.findings import IrremovableNode, Room

GOES_WITH_ITS_NODE = frozenset({"daemonset", "mirror", "static"})
"""Why a pod may not be moved that keeps no node in use, as the optimiser counts."""

TERMINATING = "terminating"
"""The rule for pods that are leaving; their room comes free."""

UNSUPPORTED = "unsupported"
"""Why a pod stays that no rule of the cluster keeps: plans cannot say what it needs."""

DEVICE_CLASS_RESOURCE = "device-class-resource "
"""Begins the need of a pod for an extended resource that some device class serves."""


def rooms(snapshot: pb.Snapshot) -> tuple[Room, ...]:
    """Return cpu, memory and each other resource that some node has.

    What the cluster's own pods request says what fits; neither selectors nor taints count.
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
    named = (need for need in one.unsupported if need.startswith(DEVICE_CLASS_RESOURCE))
    return takes.without(*(need.removeprefix(DEVICE_CLASS_RESOURCE) for need in named))


def nodes_in_use(snapshot: pb.Snapshot, goes: Mapping[str, str] | None = None) -> frozenset[str]:
    """Return the nodes in use, as things are or when pods, by UID, are where they ``go``."""
    goes = goes or {}
    return frozenset(node.name for node in snapshot.nodes if node.irremovable_reason) | frozenset(
        goes.get(pod.uid, pod.node)
        for pod in snapshot.pods
        if pod.node and (pod.movable or pod.immovable_reason not in GOES_WITH_ITS_NODE)
    )


def nodes_kept_in_use(snapshot: pb.Snapshot) -> frozenset[str]:
    """Return the nodes that rules of the cluster keep in use, whatever pods move."""
    leaves = {*GOES_WITH_ITS_NODE, TERMINATING, UNSUPPORTED}
    return frozenset(node.name for node in snapshot.nodes if node.irremovable_reason) | frozenset(
        pod.node for pod in snapshot.pods if pod.node and not pod.movable and pod.immovable_reason not in leaves
    )


def irremovable_nodes(snapshot: pb.Snapshot, names: Container[str]) -> tuple[IrremovableNode, ...]:
    """Return those of the nodes ``names`` that autoscalers may not remove, and why."""
    return tuple(
        IrremovableNode(node.name, node.irremovable_reason)
        for node in snapshot.nodes
        if node.irremovable_reason and node.name in names
    )


def leaving_in_turn(snapshot: pb.Snapshot) -> pb.Snapshot:
    """Return a snapshot for plans that empty nodes: nothing waits for these.

    The pods of a disruption budget leave one after the other, so that one that allows a
    disruption now allows them all.
    """
    changed = pb.Snapshot()
    changed.CopyFrom(snapshot)
    for budget in changed.disruption_budgets:
        if budget.disruptions_allowed > 0:
            budget.disruptions_allowed = len(changed.pods)
    return changed


def emptied_by(snapshot: pb.Snapshot, plan: pb.Plan) -> tuple[str, ...]:
    """Return the nodes in use that a plan leaves unused, in alphabetical order."""
    goes = {one.pod_uid: one.to_node for one in plan.moves}
    return tuple(sorted(nodes_in_use(snapshot) - nodes_in_use(snapshot, goes)))


def unjudged_running(
    snapshot: pb.Snapshot, refused: Mapping[str, str], nodes: Container[str] | None = None
) -> Iterator[str]:
    """Yield, in words, the running pods that no plan moves although no rule keeps them.

    Plans that would move them were not judged, so a proof says nothing of these. The
    pod classes that no plan contains come with the reason; only pods on the nodes count.
    """
    held = Counter(
        refused[pod.class_id]
        for pod in snapshot.pods
        if pod.node
        and (nodes is None or pod.node in nodes)
        and pod.class_id in refused
        and (pod.movable or pod.immovable_reason == UNSUPPORTED)
    )
    for why, pods in held.items():
        yield f"{count(pods, 'running pod')} that no plan could move: {why}"
