"""The largest cluster of the benchmark is what it says, and its calls are kept."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from benchmarks.optimizer.fleet import FleetCall, fleet_snapshot
from benchmarks.optimizer.readiness import Readiness, read_readiness, write_readiness
from stowage_optimizer.contract import optimizer_pb2 as pb

NODES = 50


def free_milli(snapshot: pb.Snapshot) -> Counter[str]:
    free = Counter({one.name: one.allocatable.cpu_milli for one in snapshot.nodes})
    asked = {one.id: one.requests.cpu_milli for one in snapshot.pod_classes}
    for pod in snapshot.pods:
        if pod.node:
            free[pod.node] -= asked[pod.class_id]
    return free


def test_each_pod_that_waits_needs_one_move() -> None:
    """A figure of moves says something only where it is known how many are needed."""
    snapshot = fleet_snapshot(NODES)
    asked = {one.id: one.requests.cpu_milli for one in snapshot.pod_classes}
    waiting = [asked[pod.class_id] for pod in snapshot.pods if not pod.node]
    free = free_milli(snapshot)

    assert len(waiting) == NODES // 10
    assert len(snapshot.pods) == 10 * NODES + len(waiting)
    assert 0 < min(free.values()) <= max(free.values()) < min(waiting)
    one_goes: dict[str, int] = {}
    for pod in snapshot.pods:
        room = free[pod.node] + asked[pod.class_id]
        one_goes[pod.node] = max(room, one_goes.get(pod.node, 0))
    assert sum(one_goes[node] >= max(waiting) for node in free) > len(waiting)


def test_the_same_seed_gives_the_same_fleet() -> None:
    """Figures of two days are of the same instance."""
    assert fleet_snapshot(NODES) == fleet_snapshot(NODES)
    assert fleet_snapshot(NODES) != fleet_snapshot(NODES, seed=2)


def test_calls_are_read_as_they_were_written(tmp_path: Path) -> None:
    """A run that was interrupted goes on where it stopped."""
    call = FleetCall(0.4, 0.1, 0.6, 1.5, 1.0, 1.0)
    readiness = Readiness((1.0,), (0.5,), (0.01,), (call,))

    write_readiness(tmp_path / "service.json", readiness)

    assert read_readiness(tmp_path / "service.json") == readiness
