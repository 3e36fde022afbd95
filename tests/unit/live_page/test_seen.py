"""What the page shows of pods and nodes is what the API says of them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from live_changes import a_node, a_pod

from stowage_testbed.live_page.seen import (
    PodState,
    causes_of,
    seen_node,
    seen_pod,
    workload_of,
)
from stowage_testbed.observe.raw_body import BodyStore, Names


@pytest.mark.parametrize(
    ("message", "causes"),
    [
        (
            "0/5 nodes are available: 2 Insufficient cpu, 3 node(s) had untolerated "
            "taint(s). preemption: 0/5 nodes are available: 5 No preemption victims "
            "found for incoming pod.",
            ("Insufficient cpu", "node(s) had untolerated taint(s)"),
        ),
        ("0/1 nodes are available: 1 Insufficient memory.", ("Insufficient memory",)),
        (
            "0/2 nodes are available: 1 Insufficient cpu, 2 Too many pods. no new "
            "claims to deallocate, preemption: 0/2 nodes are available: 2 No "
            "preemption victims found for incoming pod.",
            ("Insufficient cpu", "Too many pods"),
        ),
        ("a plan is being made", ("Unschedulable: a plan is being made",)),
    ],
)
def test_causes_are_the_schedulers_words_without_its_numbers(
    message: str, causes: tuple[str, ...]
) -> None:
    """Else each pod would wait for a cause of its own, as nodes come and go."""
    assert causes_of("Unschedulable", message) == causes


def test_a_gated_pod_waits_for_its_gate() -> None:
    """Not every pod that waits was tried."""
    assert causes_of("SchedulingGated", "") == ("SchedulingGated",)


@pytest.mark.parametrize(
    ("labels", "kind", "owner", "workload"),
    [
        ({"pod-template-hash": "5d4f"}, "ReplicaSet", "web-5d4f", "web"),
        ({}, "StatefulSet", "db", "db"),
        ({}, "Job", "report-28374650", "report"),
        ({}, "Job", "import-2024", "import-2024"),
        ({"stowage.dev/workload": "peak"}, "ReplicaSet", "x-5d4f", "peak"),
        ({}, "", "", "alone"),
    ],
)
def test_pods_of_one_workload_have_one_name(
    labels: dict[str, str], kind: str, owner: str, workload: str
) -> None:
    """A rollout and each run of a CronJob would else have colours of their own."""
    metadata: dict[str, Any] = {"name": "alone", "labels": labels}
    if owner:
        metadata["ownerReferences"] = [
            {"kind": kind, "name": owner, "controller": True}
        ]

    assert workload_of({"metadata": metadata}) == workload


@pytest.mark.parametrize(
    ("pod", "state"),
    [
        (a_pod("p"), PodState.WAITING),
        (a_pod("p", node="n"), PodState.BOUND),
        (a_pod("p", node="n", leaving=True), PodState.LEAVING),
        (a_pod("p", node="n", phase="Succeeded"), PodState.ABSENT),
        (a_pod("p", leaving=True), PodState.ABSENT),
    ],
)
def test_a_pod_takes_room_as_the_scheduler_counts_it(
    pod: dict[str, Any], state: PodState
) -> None:
    """A bar that is full must be full for the scheduler, too."""
    assert seen_pod(pod).state is state


def test_a_pod_that_lies_on_disk_is_read_alike() -> None:
    """The watches keep what they see there."""
    body = a_pod("p", node="n", said="0/1 nodes are available: 1 Too many pods.")
    raw = BodyStore().keep(msgspec.json.encode(body), Names("uid-p", "shop", "p"))
    node = a_node("n", extended={"nvidia.com/gpu": "8", "ephemeral-storage": "9"})
    raw_node = BodyStore().keep(msgspec.json.encode(node), Names("node-n", "", "n"))

    assert seen_pod(raw) == seen_pod(body)
    assert seen_node(raw_node) == seen_node(node)
    assert seen_node(raw_node).extended == (("nvidia.com/gpu", 8),)
