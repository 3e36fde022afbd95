"""Waiting for the moment a little after a scrape."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from stowage_testbed.base.clock import Clock
from stowage_testbed.base.wait import wait_until
from stowage_testbed.hpa.settings import Timing

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

Readings = dict[str, datetime]
"""When each pod was measured last, by name; whole seconds."""

SCRAPES = 4
"""A new pod has a reading after its second scrape; twice that is enough."""

MARGIN_S = 2.0
"""How old the reading shall be. The autoscaler looks at equal times from its creation:
if that came with the scrape, chance would decide which of the two is first."""


def await_scrape(api: ApiClient, namespace: str, pods: int, timing: Timing) -> None:
    """Return when the last reading of every pod is new, and as old as the margin.

    Raises
    ------
    WaitTimeoutError
        There were no readings in the time that a few scrapes take.
    """
    await_fresh(lambda: _list_readings(api, namespace), pods, timeout_s=float(SCRAPES * timing.resolution_s))


def await_fresh(
    look: Callable[[], Readings],
    pods: int,
    *,
    timeout_s: float,
    now: Callable[[], datetime] = lambda: datetime.now(tz=UTC),
    clock: Clock | None = None,
) -> None:
    """Return when a look shows new readings of so many pods that are a little old.

    Parameters
    ----------
    look
        Returns the readings that there are.
    timeout_s
        Deadline of each of the three waits.
    now
        Wall time, as the readings have it.
    clock
        What is waited by; the machine's own unless a test brings one.
    """
    first = wait_until(
        f"metrics-server to measure {pods} pods", look, lambda seen: len(seen) >= pods, timeout_s=timeout_s, clock=clock
    )
    fresh = wait_until(
        "metrics-server to measure the pods again",
        look,
        lambda seen: all(seen.get(pod, at) != at for pod, at in first.items()),
        timeout_s=timeout_s,
        clock=clock,
    )
    newest = max(fresh.values())

    def age_s() -> float:
        return (now() - newest).total_seconds()

    wait_until(
        "the reading to be a little old", age_s, lambda found_s: found_s >= MARGIN_S, timeout_s=timeout_s, clock=clock
    )


def _list_readings(api: ApiClient, namespace: str) -> Readings:
    from kubernetes.client import CustomObjectsApi  # noqa: PLC0415 - slow to import

    custom: Any = CustomObjectsApi(api)
    answer = custom.list_namespaced_custom_object("metrics.k8s.io", "v1beta1", namespace, "pods")
    return {pod["metadata"]["name"]: datetime.fromisoformat(pod["timestamp"]) for pod in answer["items"]}
