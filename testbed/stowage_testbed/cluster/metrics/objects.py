"""The objects that make up a cluster's metrics API, from the files beside this one.

Among them the kinds that KWOK reads simulated usage from.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from stowage_testbed.cluster.metrics.usage import PLURAL, usage_object
from stowage_testbed.wait import wait_until

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


def serve_usage_api(api: ApiClient, timeout_s: float) -> None:
    """Create the kinds, wait until they are served, and describe a fake kubelet.

    Pods use no CPU, unless their annotations say so, until it is set.

    To be done before KWOK asks for them: it repeats a failed list only after seconds.
    """
    definitions = read_manifests("usage-crds")
    create_objects(api, definitions)
    for definition in definitions:
        _wait_established(api, definition["metadata"]["name"], timeout_s)
    for metric in read_manifests("kubelet-metrics"):
        create_custom_object(api, metric, "metrics")
    create_custom_object(api, usage_object({}), PLURAL)


def _wait_established(api: ApiClient, name: str, timeout_s: float) -> None:
    from kubernetes.client import ApiextensionsV1Api  # noqa: PLC0415 - slow to import

    extensions = ApiextensionsV1Api(api)

    def conditions() -> dict[str, str]:
        definition: Any = extensions.read_custom_resource_definition(name)
        return {c.type: c.status for c in definition.status.conditions or []}

    wait_until(
        f"{name} to be served",
        conditions,
        lambda seen: seen.get("Established") == "True",
        timeout_s=timeout_s,
    )
