"""Nodes in a given order, and Ready before anything else happens.

The scheduler's cache lists nodes in the order in which it learns of them, so the order of creation can decide a
placement.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.objects import Objects
from stowage_testbed.base import health
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.node_pool import NodePool

if TYPE_CHECKING:
    from kubernetes.client import ApiClient, V1Node

READY_TIMEOUT_S = 120.0
_SILENCE_S = 1.5
"""After it the run is looked at."""
_NOT_READY = "node.kubernetes.io/not-ready"
_LEASES = "kube-node-lease"


def create_nodes(api: ApiClient, pools: Sequence[NodePool], *, timeout_s: float = READY_TIMEOUT_S) -> list[str]:
    """Create the pools' nodes in order, and return their names when all are Ready.

    Raises
    ------
    ApiRefusedError
        The API server refused a node: the name exists, a label is malformed.
    StowageError
        Some were not Ready within ``timeout_s``.
    """
    manifests = chain.from_iterable(pool.manifests() for pool in pools)
    return create_ready(api, list(manifests), timeout_s=timeout_s)


def create_ready(api: ApiClient, manifests: Sequence[Manifest], *, timeout_s: float = READY_TIMEOUT_S) -> list[str]:
    """Create nodes in order; return their names, and raise, as `create_nodes` does."""
    objects, names = Objects(api), list[str]()
    _delete_leases(objects, {one["metadata"]["name"] for one in manifests})
    for manifest in manifests:
        objects.create(manifest)
        names.append(manifest["metadata"]["name"])
    _wait_ready(api, names, timeout_s)
    return names


def _delete_leases(objects: Objects, names: Collection[str]) -> None:
    """Delete leases of former nodes of these names: while KWOK goes on with them, nobody plays the new nodes' pods."""
    for lease in objects.list_all("Lease", _LEASES):
        name = lease["metadata"]["name"]
        if name in names:
            delete_lease(objects, name)


def delete_lease(objects: Objects, node: str) -> None:
    """Delete the lease of a node that had this name before, for the same reason."""
    objects.delete("Lease", node, namespace=_LEASES)


def _wait_ready(api: ApiClient, names: Sequence[str], timeout_s: float) -> None:
    # They take long to import, which commands that make no nodes need not wait for.
    from kubernetes.client import CoreV1Api  # noqa: PLC0415
    from kubernetes.watch import Watch  # noqa: PLC0415
    from urllib3.exceptions import ReadTimeoutError  # noqa: PLC0415

    core, waiting = CoreV1Api(api), set(names)
    deadline_s = time.monotonic() + timeout_s
    while waiting:
        left_s = int(deadline_s - time.monotonic())
        if left_s < 1:
            raise StowageError(
                f"{len(waiting)} nodes were not Ready within {timeout_s:g} s, "
                f"{min(waiting)} the first of them; "
                "see logs/kwok-controller.log in the cluster's folder"
            )
        # A watch without a version begins with every node as it is now; one that is silent is begun anew.
        watch: Any = Watch()  # type: ignore[no-untyped-call] # the library has no annotations
        with suppress(ReadTimeoutError):
            for event in watch.stream(core.list_node, timeout_seconds=left_s, _request_timeout=(left_s, _SILENCE_S)):
                node: V1Node = event["object"]
                if _is_schedulable(node) and node.metadata:
                    waiting.discard(str(node.metadata.name))
                if not waiting:
                    watch.stop()
        health.check()


def _is_schedulable(node: V1Node) -> bool:
    """Return whether a node is Ready and the controller manager has taken back the taint that admission gave it."""
    conditions = (node.status.conditions if node.status else None) or []
    taints = (node.spec.taints if node.spec else None) or []
    ready = any(c.type == "Ready" and c.status == "True" for c in conditions)
    return ready and all(taint.key != _NOT_READY for taint in taints)
