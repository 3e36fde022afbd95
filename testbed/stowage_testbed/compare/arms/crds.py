"""Custom resources of an arm: their definitions, without which it cannot start.

The definitions stay on the cluster, as other arms may use them. The objects that the
arm made go with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from kubernetes.client import ApiClient, ApiextensionsV1Api, CustomObjectsApi
from urllib3.exceptions import HTTPError

from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.interruption import uninterrupted
from stowage_testbed.wait import HANG_S, wait_until

_APPLY = "application/apply-patch+yaml"
_MANAGER = "stowage"


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of object that an arm makes; in a namespace unless that is empty."""

    group: str
    version: str
    plural: str
    namespace: str = ""


@contextmanager
def custom_resources(
    cluster: Cluster, definitions: Path, made: Sequence[Resource]
) -> Iterator[None]:
    """Apply a folder's definitions; at the end, delete the objects of some kinds."""
    apply_crds(cluster, definitions)
    try:
        yield
    finally:
        # A cluster that does not answer any more takes its objects along.
        with uninterrupted(), cluster.api_client() as api, suppress(HTTPError):
            for kind in made:
                _delete_all(api, kind)


def apply_crds(cluster: Cluster, folder: Path) -> None:
    """Apply every definition of a folder, and wait until the API server serves them."""
    with cluster.api_client() as api:
        names = [_apply(api, file) for file in sorted(folder.glob("*.yaml"))]
        wait_until(
            f"the custom resources of {folder.name} to be served",
            lambda: _waiting(api, names),
            lambda waiting: not waiting,
            timeout_s=HANG_S,
        )


def _apply(api: ApiClient, file: Path) -> str:
    manifest = yaml.safe_load(file.read_text("utf-8"))
    name = str(manifest["metadata"]["name"])
    extensions: Any = ApiextensionsV1Api(api)
    extensions.patch_custom_resource_definition(
        name, manifest, field_manager=_MANAGER, force=True, _content_type=_APPLY
    )
    return name


def _waiting(api: ApiClient, names: Sequence[str]) -> list[str]:
    extensions: Any = ApiextensionsV1Api(api)
    found = extensions.list_custom_resource_definition().items
    established = {
        one.metadata.name
        for one in found
        for condition in one.status.conditions or ()
        if condition.type == "Established" and condition.status == "True"
    }
    return [name for name in names if name not in established]


def _delete_all(api: ApiClient, kind: Resource) -> None:
    objects: Any = CustomObjectsApi(api)
    where = (kind.group, kind.version)
    if kind.namespace:
        objects.delete_collection_namespaced_custom_object(
            *where, kind.namespace, kind.plural
        )
    else:
        objects.delete_collection_cluster_custom_object(*where, kind.plural)
