"""Which of the pods that wait are judged."""

from __future__ import annotations

from typing import Any

import pytest

from stowage_testbed.whatif.findings import Elsewhere
from stowage_testbed.whatif.inventory import FURTHER, Inventory, inventory_of
from stowage_testbed.whatif.judged import NAMESPACE_NAME, judged_pods

UNREAD = (FURTHER["Namespace"],)


def a_pod(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "ns", "uid": name}, "spec": spec}


def selecting(name: str, kind: str, label: str) -> dict[str, Any]:
    term = {"namespaceSelector": {"matchLabels": {label: "x"}}}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    return a_pod(name, affinity={kind: {required: [term]}})


def test_pods_of_a_release_are_judged_whatever_its_scheduler_is_called() -> None:
    """The simulated scheduler has one name; who waits for another is counted."""
    leaving = a_pod("f", schedulerName="x")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    pods = (
        a_pod("a", schedulerName="mine"),
        a_pod("b"),
        a_pod("c", schedulerName="x"),
        a_pod("d", schedulerName="x", nodeName="n"),
        a_pod("e", schedulerName="x", schedulingGates=[{"name": "g"}]),
        leaving,
    )

    judged = judged_pods(Inventory(({},), pods), ("mine",))

    names = [pod["spec"]["schedulerName"] for pod in judged.pods]
    assert names[:3] == ["default-scheduler", "not-judged/default-scheduler", "x"]
    assert judged.elsewhere == (Elsewhere("default-scheduler", 1), Elsewhere("x", 1))


def test_pods_that_ask_for_labels_nobody_read_are_known() -> None:
    """A namespace's name is known without reading it; other labels are not."""
    pods = (
        selecting("near", "podAffinity", "team"),
        selecting("far", "podAntiAffinity", "team"),
        selecting("named", "podAffinity", NAMESPACE_NAME),
        a_pod("plain"),
    )

    unread = judged_pods(Inventory(({},), pods, unread=UNREAD), ("mine",))
    assert unread.of_unread.keys() == {"near", "far"}
    assert not judged_pods(Inventory(({},), pods), ("mine",)).of_unread


GPU = "example.com/gpu"


@pytest.mark.parametrize(
    ("resource", "allocatable", "unread", "judged"),
    [
        (GPU, {}, ["DeviceClass"], False),
        (GPU, {GPU: "0"}, ["DeviceClass"], False),
        ("deviceclass.resource.kubernetes.io/gpus", {}, ["DeviceClass"], False),
        (GPU, {GPU: "1"}, ["DeviceClass"], True),
        (GPU, {}, [], True),
        (GPU, {}, ["ResourceSlice"], True),
        ("cpu", {}, ["DeviceClass"], True),
        ("hugepages-2Mi", {}, ["DeviceClass"], True),
    ],
)
def test_who_asks_for_what_an_unread_device_class_may_serve_is_not_judged(
    resource: str, allocatable: dict[str, str], unread: list[str], *, judged: bool
) -> None:
    """No node lists such a resource, and yet nodes may have the devices."""
    container = {"name": "c", "resources": {"requests": {resource: "1"}}}
    node = {"metadata": {"name": "n"}, "status": {"allocatable": allocatable}}
    inventory = inventory_of(
        [
            {"kind": "Node", **node},
            {"kind": "Pod", **a_pod("asks", containers=[container])},
            {"kind": "Pod", **a_pod("plain", containers=[{"name": "c"}])},
        ],
        unread,
    )

    found = judged_pods(inventory, ("default-scheduler",)).of_unread

    assert set(found) == (set() if judged else {"asks"})
    assert (FURTHER["DeviceClass"] in inventory.unread) is not judged
