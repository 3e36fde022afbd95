"""Which of the pods that wait are judged."""

from __future__ import annotations

from typing import Any

import pytest

from stowage_testbed.whatif.findings import Elsewhere
from stowage_testbed.whatif.inventory import Inventory, inventory_of
from stowage_testbed.whatif.judged import NAMESPACE_NAME, judged_pods


def a_pod(name: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ns", "uid": name}
    return {"kind": "Pod", "metadata": metadata, "spec": spec}


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


def asking(resource: str) -> dict[str, Any]:
    container = {"name": "c", "resources": {"requests": {resource: "1"}}}
    return a_pod("asks", containers=[container])


@pytest.mark.parametrize(
    ("pod", "unread", "judged"),
    [
        # No node lists what a device class serves, and yet nodes may have the devices.
        (asking("example.com/gpu"), "DeviceClass", False),
        (asking("example.com/none"), "DeviceClass", False),
        (asking("deviceclass.resource.kubernetes.io/gpus"), "DeviceClass", False),
        (asking("example.com/fpga"), "DeviceClass", True),
        (asking("example.com/gpu"), "", True),
        (asking("example.com/gpu"), "ResourceSlice", True),
        (asking("cpu"), "DeviceClass", True),
        (asking("hugepages-2Mi"), "DeviceClass", True),
        # A namespace's name is known without reading it; other labels are not.
        (selecting("asks", "podAffinity", "team"), "Namespace", False),
        (selecting("asks", "podAntiAffinity", "team"), "Namespace", False),
        (selecting("asks", "podAffinity", NAMESPACE_NAME), "Namespace", True),
        (selecting("asks", "podAffinity", "team"), "", True),
    ],
)
def test_who_asks_for_what_was_not_read_is_not_judged(pod: dict[str, Any], unread: str, *, judged: bool) -> None:
    """It would be told to fit nowhere, or anywhere."""
    has = {"example.com/fpga": "1", "example.com/none": "0"}
    node = {"metadata": {"name": "n"}, "status": {"allocatable": has}}
    plain = a_pod("plain", containers=[{"name": "c"}])
    objects = [{"kind": "Node", **node}, pod, plain]
    inventory = inventory_of(objects, [unread] if unread else [])

    found = judged_pods(inventory, ("default-scheduler",)).of_unread

    assert set(found) == (set() if judged else {"asks"})
