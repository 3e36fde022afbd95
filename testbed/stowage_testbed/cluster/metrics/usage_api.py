"""Teaching the API server the kinds that KWOK reads simulated usage from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stowage_testbed.cluster.metrics.objects import (
    create_custom_object,
    create_objects,
    read_manifests,
)
from stowage_testbed.cluster.metrics.usage import PLURAL, usage_object
from stowage_testbed.wait import wait_until

if TYPE_CHECKING:
    from kubernetes.client import ApiClient


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
