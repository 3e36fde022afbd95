"""Waiting for the moment just after a scrape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from testbed.hpa.settings import Timing
from testbed.wait import wait_until

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

Readings = dict[str, str]
"""When each pod was measured last, by name."""

SCRAPES = 4
"""A new pod has a reading after its second scrape; twice that is enough."""


def await_scrape(api: ApiClient, namespace: str, pods: int, timing: Timing) -> None:
    """Return when every pod has just got a new reading.

    Raises
    ------
    WaitTimeoutError
        There were none in the time that a few scrapes take.
    """
    timeout_s = float(SCRAPES * timing.resolution_s)

    def look() -> Readings:
        return _readings(api, namespace)

    first = wait_until(
        f"metrics-server to measure {pods} pods of {namespace}",
        look,
        lambda seen: len(seen) >= pods,
        timeout_s=timeout_s,
    )
    wait_until(
        f"metrics-server to measure the pods of {namespace} again",
        look,
        lambda seen: all(seen.get(pod, at) != at for pod, at in first.items()),
        timeout_s=timeout_s,
    )


def _readings(api: ApiClient, namespace: str) -> Readings:
    from kubernetes.client import CustomObjectsApi  # noqa: PLC0415 - slow to import

    custom: Any = CustomObjectsApi(api)
    answer = custom.list_namespaced_custom_object(
        "metrics.k8s.io", "v1beta1", namespace, "pods"
    )
    return {pod["metadata"]["name"]: pod["timestamp"] for pod in answer["items"]}
