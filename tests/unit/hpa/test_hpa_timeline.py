"""From watched changes to lines over time."""

from __future__ import annotations

from typing import Any

from stowage_testbed.hpa.model.load_window import Segment
from stowage_testbed.hpa.timeline import (
    PodCount,
    Replicas,
    pod_counts,
    replicas,
    segments,
)
from stowage_testbed.observe.change import Change, Verb
from stowage_testbed.observe.receipt import NS_PER_S, Receipt

ORIGIN = Receipt(100 * NS_PER_S, 0)


def at(second: float) -> Receipt:
    return Receipt(int((100 + second) * NS_PER_S), 0)


def pod(
    second: float, name: str, verb: Verb, *, ready: bool, going: bool = False
) -> Change:
    metadata: dict[str, Any] = {"uid": name, "name": name, "namespace": "shop"}
    if going:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    status = {"conditions": [{"type": "Ready", "status": str(ready)}]}
    return Change("Pod", verb, at(second), {"metadata": metadata, "status": status})


def autoscaler(second: float, status: dict[str, Any]) -> Change:
    metadata = {"uid": "a", "name": "a", "namespace": "shop"}
    body = {"metadata": metadata, "status": status}
    return Change("HorizontalPodAutoscaler", Verb.MODIFIED, at(second), body)


def test_pods_count_from_their_creation_and_serve_while_they_are_ready() -> None:
    """A pod that goes gets no more requests, though it is still there."""
    changes = [
        pod(-5, "old", Verb.LISTED, ready=True),
        pod(1, "new", Verb.ADDED, ready=False),
        pod(2, "new", Verb.MODIFIED, ready=True),
        pod(3, "old", Verb.MODIFIED, ready=True, going=True),
        pod(4, "old", Verb.DELETED, ready=True, going=True),
    ]

    assert pod_counts(changes, "shop", ORIGIN) == (
        PodCount(-5.0, 1, 1),
        PodCount(1.0, 2, 1),
        PodCount(2.0, 2, 2),
        PodCount(3.0, 2, 1),
        PodCount(4.0, 1, 1),
    )


def test_pods_of_other_namespaces_are_others() -> None:
    assert pod_counts([pod(1, "new", Verb.ADDED, ready=True)], "home", ORIGIN) == ()


def test_segments_cover_the_span_without_gaps() -> None:
    counts = [PodCount(-1.0, 3, 3), PodCount(2.0, 7, 3), PodCount(4.0, 7, 7)]

    assert segments(counts, 0.0, 10.0) == (
        Segment(2.0, 3), Segment(2.0, 3), Segment(6.0, 7),
    )  # fmt: skip
    assert segments(counts, 5.0, 6.0) == (Segment(1.0, 7),)
    assert segments([], 0.0, 1.0) == (Segment(1.0, 0),)


def test_the_autoscaler_s_status_is_followed_before_and_after_its_first_reading() -> (
    None
):
    """Kubernetes shows an empty metric until there is a reading."""
    reading = {"resource": {"name": "cpu", "current": {"averageUtilization": 208}}}
    changes = [
        autoscaler(0, {}),
        autoscaler(
            1, {"currentReplicas": 3, "desiredReplicas": 3, "currentMetrics": [{}]}
        ),
        autoscaler(
            2, {"currentReplicas": 3, "desiredReplicas": 7, "currentMetrics": [reading]}
        ),
    ]

    assert replicas(changes, "shop", ORIGIN) == (
        Replicas(1.0, 3, 3, None), Replicas(2.0, 3, 7, 208),
    )  # fmt: skip
