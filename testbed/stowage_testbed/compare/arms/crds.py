"""Custom resources of an arm: their definitions, without which it cannot start.

The definitions stay on the cluster, as other arms may use them. The objects that the
arm made go with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from stowage_testbed.api.client import ApiUnreachableError
from stowage_testbed.api.kinds import DEFINITION
from stowage_testbed.api.manifests import read_manifests
from stowage_testbed.api.objects import Objects
from stowage_testbed.base.wait import HANG_S
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.interruption import uninterrupted


@contextmanager
def custom_resources(cluster: Cluster, definitions: Path, *kinds: str, namespace: str = "") -> Iterator[None]:
    """Apply a folder's definitions; at the end, delete the objects of some kinds."""
    with cluster.api_client() as api:
        objects = Objects(api)
        applied = read_manifests(definitions, definitions)
        for one in applied:
            # There may be an older one.
            objects.create(one, or_keep=True)
            objects.patch(DEFINITION, one["metadata"]["name"], one)
        for one in applied:
            objects.await_definition(one["metadata"]["name"], HANG_S)
    try:
        yield
    finally:
        # A cluster that does not answer any more takes its objects along.
        with uninterrupted(), suppress(ApiUnreachableError), cluster.api_client() as api:
            for kind in kinds:
                Objects(api).delete_all(kind, namespace)
