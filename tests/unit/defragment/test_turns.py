"""Pods leave a node in the turn in which the release has them leave it."""

from __future__ import annotations

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.defragment.turns import Turns


def test_pods_that_matter_or_are_large_leave_first() -> None:
    """What is hardest to place goes where there is still most room."""
    snapshot = pb.Snapshot(
        nodes=[pb.Node(name="n", allocatable=pb.Resources(cpu_milli=8, memory_bytes=4))]
    )
    for name, priority, cpu, memory in (
        ("small", 0, 1, 1),
        ("wide", 0, 1, 3),
        ("broad", 0, 5, 1),
        ("dear", 9, 1, 1),
        ("also-small", 0, 1, 1),
    ):
        snapshot.pod_classes.add(
            id=name,
            priority=priority,
            requests=pb.Resources(cpu_milli=cpu, memory_bytes=memory),
        )
        snapshot.pods.add(uid=name, name=name, class_id=name, node="n", movable=True)

    turns = Turns(snapshot).of(pod.uid for pod in snapshot.pods)

    assert turns == ("dear", "wide", "broad", "also-small", "small")
