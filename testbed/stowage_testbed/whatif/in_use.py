"""Which nodes are in use: those that hold a pod which would not go with its node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stowage_optimizer.contract import optimizer_pb2 as pb

GOES_WITH_ITS_NODE = frozenset({"daemonset", "mirror", "static"})
"""Why a pod may not be moved that keeps no node in use, as the optimiser counts."""


def nodes_in_use(
    snapshot: pb.Snapshot, goes: Mapping[str, str] | None = None
) -> frozenset[str]:
    """Return the nodes in use, as things are or when pods are where they ``go``.

    Parameters
    ----------
    goes
        The new nodes of moved pods, by UID.
    """
    return frozenset(_held(snapshot, goes or {}))


def _held(snapshot: pb.Snapshot, goes: Mapping[str, str]) -> Iterator[str]:
    for pod in snapshot.pods:
        if pod.node and (pod.movable or pod.immovable_reason not in GOES_WITH_ITS_NODE):
            yield goes.get(pod.uid, pod.node)


def emptied_by(snapshot: pb.Snapshot, plan: pb.Plan) -> tuple[str, ...]:
    """Return the nodes in use that a plan leaves unused, in alphabetical order."""
    goes = {one.pod_uid: one.to_node for one in plan.moves}
    return tuple(sorted(nodes_in_use(snapshot) - nodes_in_use(snapshot, goes)))
