"""The objects that make up a cluster's metrics API, from the files beside this one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

_FOLDER = Path(__file__).parent

Manifest = dict[str, Any]


def read_manifests(name: str) -> list[Manifest]:
    """Return the documents of ``<name>.yaml``."""
    text = (_FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    return list(yaml.safe_load_all(text))


def create_objects(api: ApiClient, manifests: list[Manifest]) -> None:
    """Create objects of any kind that the client library knows.

    Raises
    ------
    kubernetes.utils.FailToCreateError
        The API server refused one; carries its reason.
    """
    from kubernetes.utils import create_from_dict  # noqa: PLC0415 - slow to import

    for manifest in manifests:
        create_from_dict(api, manifest)  # type: ignore[no-untyped-call]


def create_custom_object(api: ApiClient, manifest: Manifest, plural: str) -> None:
    """Create an object of a kind that only the cluster knows; it has no namespace.

    Raises
    ------
    kubernetes.client.ApiException
        The API server refused it.
    """
    from kubernetes.client import CustomObjectsApi  # noqa: PLC0415 - slow to import

    group, _, version = manifest["apiVersion"].partition("/")
    CustomObjectsApi(api).create_cluster_custom_object(group, version, plural, manifest)
