"""Nodes in use, and how others are emptied.

They hold a pod that would not go with its node, or autoscalers may not remove them.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.whatif.findings import IrremovableNode

GOES_WITH_ITS_NODE = frozenset({"daemonset", "mirror", "static"})
"""Why a pod may not be moved that keeps no node in use, as the optimiser counts."""

TERMINATING = "terminating"
"""The rule for pods that are leaving; their room comes free."""

UNSUPPORTED = "unsupported"
"""Why a pod stays that no rule of the cluster keeps: plans cannot say what it needs."""


def nodes_in_use(snapshot: pb.Snapshot, goes: Mapping[str, str] | None = None) -> frozenset[str]:
    """Return the nodes in use, as things are or when pods are where they ``go``.

    Parameters
    ----------
    goes
        The new nodes of moved pods, by UID.
    """
    return frozenset(_held(snapshot, goes or {}))


def _held(snapshot: pb.Snapshot, goes: Mapping[str, str]) -> Iterator[str]:
    for node in snapshot.nodes:
        if node.irremovable_reason:
            yield node.name
    for pod in snapshot.pods:
        if pod.node and (pod.movable or pod.immovable_reason not in GOES_WITH_ITS_NODE):
            yield goes.get(pod.uid, pod.node)


def irremovable_nodes(snapshot: pb.Snapshot, names: Container[str]) -> tuple[IrremovableNode, ...]:
    """Return those of the nodes ``names`` that autoscalers may not remove, and why."""
    return tuple(
        IrremovableNode(node.name, node.irremovable_reason)
        for node in snapshot.nodes
        if node.irremovable_reason and node.name in names
    )


def nodes_kept_in_use(snapshot: pb.Snapshot) -> frozenset[str]:
    """Return the nodes that rules of the cluster keep in use, whatever pods move."""
    leaves = {*GOES_WITH_ITS_NODE, TERMINATING, UNSUPPORTED}
    return frozenset(node.name for node in snapshot.nodes if node.irremovable_reason) | frozenset(
        pod.node for pod in snapshot.pods if pod.node and not pod.movable and pod.immovable_reason not in leaves
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
