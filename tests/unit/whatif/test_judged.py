"""Which of the pods that wait are judged."""

from __future__ import annotations

from typing import Any

from stowage_testbed.whatif.findings import Elsewhere
from stowage_testbed.whatif.inventory import FURTHER, Inventory
from stowage_testbed.whatif.judged import NAMESPACE_NAME, judged_pods

UNREAD = (FURTHER["Namespace"],)


def a_pod(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "ns", "uid": name}, "spec": spec}


def selecting(name: str, kind: str, label: str) -> dict[str, Any]:
    term = {"namespaceSelector": {"matchLabels": {label: "x"}}}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    return a_pod(name, affinity={kind: {required: [term]}})


def test_pods_of_a_release_are_judged_whatever_its_scheduler_is_called() -> None:
    """The simulated scheduler has one name; theirs is another, or none."""
    pods = (a_pod("a", schedulerName="mine"), a_pod("b"), a_pod("c", schedulerName="x"))

    judged = judged_pods(Inventory(({},), pods), ("mine",))

    names = [pod["spec"]["schedulerName"] for pod in judged.pods]
    assert names == ["default-scheduler", "not-judged/default-scheduler", "x"]
    assert judged.elsewhere == (Elsewhere("default-scheduler", 1), Elsewhere("x", 1))


def test_only_who_waits_for_a_node_is_counted_elsewhere() -> None:
    """Running, gated and leaving pods wait for no scheduler."""
    leaving = a_pod("c", schedulerName="x")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    pods = (
        a_pod("a", schedulerName="x", nodeName="n"),
        a_pod("b", schedulerName="x", schedulingGates=[{"name": "g"}]),
        leaving,
    )

    assert judged_pods(Inventory(({},), pods), ("mine",)).elsewhere == ()


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
