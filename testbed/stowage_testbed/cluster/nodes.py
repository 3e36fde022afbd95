"""Nodes in a given order, and Ready before anything else happens.

The scheduler's cache lists nodes in the order in which it learns of them, so the order
of creation can decide a placement.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from stowage_testbed.cluster.node_pool import NodePool
from stowage_testbed.errors import StowageError

if TYPE_CHECKING:
    from kubernetes.client import ApiClient, CoreV1Api, V1Node

READY_TIMEOUT_S = 120.0
_NOT_READY = "node.kubernetes.io/not-ready"


def create_nodes(
    api: ApiClient, pools: Sequence[NodePool], *, timeout_s: float = READY_TIMEOUT_S
) -> list[str]:
    """Create the pools' nodes one after the other, and wait until all are Ready.

    Returns
    -------
    list of str
        The nodes' names in the order of their creation.

    Raises
    ------
    kubernetes.client.ApiException
        The API server refused a node: the name exists, a label is malformed.
    StowageError
        Some were not Ready within ``timeout_s``.
    """
    from kubernetes.client import CoreV1Api  # noqa: PLC0415 - it takes long to import

    core = CoreV1Api(api)
    names: list[str] = []
    for pool in pools:
        for name, manifest in zip(pool.node_names(), pool.manifests(), strict=True):
            # The client takes plain objects as well as its own classes.
            core.create_node(cast("V1Node", manifest))
            names.append(name)
    _wait_ready(core, names, timeout_s)
    return names


def _wait_ready(core: CoreV1Api, names: Sequence[str], timeout_s: float) -> None:
    from kubernetes.watch import Watch  # noqa: PLC0415 - it takes long to import

    waiting = set(names)
    deadline_s = time.monotonic() + timeout_s
    while waiting:
        left_s = int(deadline_s - time.monotonic())
        if left_s < 1:
            raise StowageError(
                f"{len(waiting)} nodes were not Ready within {timeout_s:g} s, "
                f"{min(waiting)} the first of them; "
                "see logs/kwok-controller.log in the cluster's folder"
            )
        # A watch without a version begins with every node as it is now.
        watch: Any = Watch()  # type: ignore[no-untyped-call]
        for event in watch.stream(core.list_node, timeout_seconds=left_s):
            node: V1Node = event["object"]
            if _is_schedulable(node) and node.metadata:
                waiting.discard(str(node.metadata.name))
            if not waiting:
                watch.stop()


def _is_schedulable(node: V1Node) -> bool:
    """Return whether a node is Ready and has lost the taint it was born with.

    Admission taints every new node; the controller manager takes that back only after
    it has seen the node Ready.
    """
    conditions = (node.status.conditions if node.status else None) or []
    taints = (node.spec.taints if node.spec else None) or []
    ready = any(c.type == "Ready" and c.status == "True" for c in conditions)
    return ready and all(taint.key != _NOT_READY for taint in taints)
