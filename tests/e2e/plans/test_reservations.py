"""The user stories of resource reservation (seed 001), on a live cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes.client import ApiException, CustomObjectsApi
from release_environment import ReleaseEnvironment

from stowage_testbed.base.wait import HANG_S, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.smoke]

KIND = ("stowage.dev", "v1alpha1", "reservations")
TAKEN = "stowage.dev/reservation-allocated"


@pytest.fixture
def cleared(environment: ReleaseEnvironment) -> Iterator[ReleaseEnvironment]:
    """Return two empty nodes of 4 GB; afterwards no pod or reservation is left."""
    yield environment
    found: Any = CustomObjectsApi(environment.client).list_cluster_custom_object(*KIND)
    for one in found["items"]:
        _end(environment, one["metadata"]["name"])
    for pod in environment.core.list_namespaced_pod("default").items:
        environment.core.delete_namespaced_pod(
            pod.metadata.name, "default", grace_period_seconds=0
        )
    wait_until(
        "all pods to be gone",
        lambda: environment.core.list_namespaced_pod("default").items,
        lambda pods: not pods,
        timeout_s=HANG_S,
    )


def _spec(memory: str, **more: Any) -> dict[str, Any]:
    requests = {"cpu": "100m", "memory": memory}
    container = {"name": "c", "image": "none", "resources": {"requests": requests}}
    return {"terminationGracePeriodSeconds": 0, "containers": [container], **more}


def _reserve(
    environment: ReleaseEnvironment, name: str, memory: str, app: str, **more: Any
) -> None:
    node = {"nodeName": more.pop("node")} if "node" in more else {}
    CustomObjectsApi(environment.client).create_cluster_custom_object(
        *KIND,
        {
            "apiVersion": "stowage.dev/v1alpha1",
            "kind": "Reservation",
            "metadata": {"name": name},
            "spec": {
                "template": {"spec": _spec(memory, **node)},
                "owners": [{"labelSelector": {"matchLabels": {"app": app}}}],
                **more,
            },
        },
    )


def _end(environment: ReleaseEnvironment, name: str) -> None:
    CustomObjectsApi(environment.client).delete_cluster_custom_object(*KIND, name)


def _status(environment: ReleaseEnvironment, name: str) -> dict[str, Any]:
    found: Any = CustomObjectsApi(environment.client).get_cluster_custom_object(
        *KIND, name
    )
    status: dict[str, Any] = found.get("status", {})
    return status


def _reaches(environment: ReleaseEnvironment, name: str, phase: str) -> dict[str, Any]:
    return wait_until(
        f"reservation {name} to be {phase}",
        lambda: _status(environment, name),
        lambda status: status.get("phase") == phase,
        timeout_s=HANG_S,
    )


def _run(environment: ReleaseEnvironment, name: str, memory: str, app: str) -> None:
    environment.core.create_namespaced_pod(
        "default",
        {"metadata": {"name": name, "labels": {"app": app}}, "spec": _spec(memory)},
    )


def _placed(pod: Any) -> bool:
    return bool(pod and pod.spec.node_name)


def _refused(pod: Any) -> bool:
    conditions = (pod and pod.status.conditions) or ()
    return any(
        one.type == "PodScheduled" and one.reason == "Unschedulable"
        for one in conditions
    )


def test_a_scale_up_is_certain_once_its_room_is_reserved(
    cleared: ReleaseEnvironment,
) -> None:
    """Story 3: others come first, and the owner still finds its room."""
    _reserve(cleared, "peak", "3G", "shop")
    node = _reaches(cleared, "peak", "Available")["nodeName"]
    _run(cleared, "crowd-1", "3G", "crowd")
    _run(cleared, "crowd-2", "3G", "crowd")
    other = cleared.until("crowd-1", "placed", _placed).spec.node_name
    cleared.until("crowd-2", "refused", _refused)

    _run(cleared, "shop-1", "2G", "shop")
    owner = cleared.until("shop-1", "placed", _placed)
    status = wait_until(
        "the reservation to say who took of it",
        lambda: _status(cleared, "peak"),
        lambda status: bool(status.get("currentOwners")),
        timeout_s=HANG_S,
    )

    assert other != node
    assert owner.spec.node_name == node
    assert json.loads(owner.metadata.annotations[TAKEN])["name"] == "peak"
    assert status["allocated"]["memory"] == "2G"
    assert [one["name"] for one in status["currentOwners"]] == ["shop-1"]
    assert not _placed(cleared.pod("default", "crowd-2"))


def test_room_that_is_not_free_yet_can_be_reserved(cleared: ReleaseEnvironment) -> None:
    """Story 4: a reservation waits without disrupting any pod, and is served first."""
    for number in (1, 2):
        _run(cleared, f"old-{number}", "3G", "old")
        cleared.until(f"old-{number}", "placed", _placed)
    node = cleared.pod("default", "old-1").spec.node_name
    _reserve(cleared, "later", "3G", "new", node=node, preAllocation=True)
    _reaches(cleared, "later", "Waiting")
    _run(cleared, "thief", "2G", "thief")
    cleared.until("thief", "refused", _refused)

    cleared.core.delete_namespaced_pod("old-1", "default")
    _reaches(cleared, "later", "Available")
    _run(cleared, "new-1", "3G", "new")

    assert cleared.until("new-1", "placed", _placed).spec.node_name == node
    assert not _placed(cleared.pod("default", "thief"))


def test_a_migration_has_its_room_before_it_begins(cleared: ReleaseEnvironment) -> None:
    """Story 2: what is moved has a place to go, also if somebody else is quicker."""
    _run(cleared, "app-1", "3G", "app")
    source = cleared.until("app-1", "placed", _placed).spec.node_name
    (target,) = {"node-0", "node-1"} - {source}
    _reserve(cleared, "migration", "3G", "app", node=target)
    _reaches(cleared, "migration", "Available")

    cleared.core.delete_namespaced_pod("app-1", "default")
    _run(cleared, "quick", "4G", "quick")
    _run(cleared, "app-2", "3G", "app")

    assert cleared.until("app-2", "placed", _placed).spec.node_name == target
    assert cleared.until("quick", "placed", _placed).spec.node_name == source


@pytest.mark.parametrize("how", ["expires", "is deleted"])
def test_room_is_free_again_when_the_reservation_ends(
    cleared: ReleaseEnvironment, how: str
) -> None:
    """A reservation nobody needs must not keep others waiting for ever."""
    _reserve(cleared, "unused", "3G", "nobody", node="node-0", ttl="3s")
    _reserve(cleared, "kept", "3G", "nobody", node="node-1")
    _reaches(cleared, "unused", "Available")
    _reaches(cleared, "kept", "Available")
    _run(cleared, "waiting", "3G", "crowd")
    cleared.until("waiting", "refused", _refused)

    if how == "expires":
        status = _reaches(cleared, "unused", "Failed")
        ready = {one["type"]: one for one in status["conditions"]}["Ready"]
        assert (ready["status"], ready["reason"]) == ("False", "Expired")
    else:
        _end(cleared, "unused")

    assert cleared.until("waiting", "placed", _placed).spec.node_name == "node-0"


def test_what_an_owner_took_is_held_again_when_he_is_gone(
    cleared: ReleaseEnvironment,
) -> None:
    """The room belongs to the reservation for as long as that lives."""
    _reserve(cleared, "steady", "3G", "shop", node="node-0")
    _reserve(cleared, "other", "3G", "nobody", node="node-1")
    _reaches(cleared, "steady", "Available")
    _reaches(cleared, "other", "Available")
    _run(cleared, "shop-1", "3G", "shop")
    cleared.until("shop-1", "placed", _placed)
    cleared.core.delete_namespaced_pod("shop-1", "default")
    wait_until(
        "the books to be clear",
        lambda: _status(cleared, "steady"),
        lambda status: not status.get("currentOwners") and not status.get("allocated"),
        timeout_s=HANG_S,
    )

    _run(cleared, "crowd-1", "3G", "crowd")
    cleared.until("crowd-1", "refused", _refused)
    _run(cleared, "shop-2", "3G", "shop")

    assert cleared.until("shop-2", "placed", _placed).spec.node_name == "node-0"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"owners": []}, "spec.owners"),
        ({"owners": [{}]}, "an owner names an object, a controller or a labelSelector"),
        ({"ttl": "1h", "expires": "2030-01-01T00:00:00Z"}, "exclude each other"),
        ({"ttl": "soon"}, "spec.ttl"),
    ],
)
def test_a_reservation_that_cannot_be_meant_is_refused(
    environment: ReleaseEnvironment, change: dict[str, Any], reason: str
) -> None:
    """A mistake is reported at once, not found in a log after the peak."""
    with pytest.raises(ApiException) as refused:
        _reserve(environment, "broken", "1G", "shop", **change)

    assert reason in str(refused.value.body)
