"""A large cluster is read and planned by kinds and classes, not pod by pod."""

from __future__ import annotations

import pytest
from snapshot_builder import SnapshotBuilder
from solving_in_process import Answer, budget_of, decoded

from stowage_optimizer.constraints import node_constraints
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.node import Node
from stowage_optimizer.model.options import SolveOptions
from stowage_optimizer.model.pod_class import PodClass
from stowage_optimizer.model.pods import Pods
from stowage_optimizer.stages.pipeline import Packings, solve
from stowage_optimizer.strategies.lexicographic.strategy import LexicographicStrategy

NODES = 15_000
ZONES = ("a", "b", "c")
CLASSES = 12
ON_A_NODE = 4
WAITING = 2_000


@pytest.fixture(scope="module")
def fleet() -> pb.Snapshot:
    """Return nodes of three zones, with four pods each, and pods that wait."""
    builder = SnapshotBuilder()
    for number in range(NODES):
        labels = {"zone": ZONES[number % 3], "kubernetes.io/hostname": f"n{number}"}
        builder.node(f"n{number}", cpu_milli=8_000, labels=labels)
    for number in range(CLASSES):
        one = builder.pod_class(
            f"c{number}", cpu_milli=1_000 + 100 * number, priority=number % 3
        )
        one.node_selector["zone"] = ZONES[number % 3]
    for number, home in enumerate([*range(NODES)] * ON_A_NODE + [None] * WAITING):
        zone = (number if home is None else home) % 3
        of = f"c{zone + 3 * (number % (CLASSES // 3))}"
        builder.pod(f"p{number}", of=of, node="" if home is None else f"n{home}")
    return builder.message


def test_a_node_is_looked_at_once_a_sort(
    fleet: pb.Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 15,000 nodes and a thousand classes, each pair would take minutes."""
    looks = 0
    real = node_constraints.has_wanted_labels

    def counted(pod_class: PodClass, node: Node) -> bool:
        nonlocal looks
        looks += 1
        return real(pod_class, node)

    monkeypatch.setattr(node_constraints, "has_wanted_labels", counted)

    packing = Packings(decoded(fleet)).plain

    assert 0 < looks <= CLASSES * len(ZONES)
    assert len(packing.kinds) == CLASSES


def test_no_pod_becomes_an_object_on_the_way_to_a_plan(
    fleet: pb.Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Objects of 130,000 pods took longer than finding the first plan."""

    def refused(_pods: Pods, index: int) -> None:
        raise AssertionError(f"somebody looked at pod {index} by itself")

    monkeypatch.setattr(Pods, "__getitem__", refused)

    found = solve(
        LexicographicStrategy(),
        Packings(decoded(fleet)),
        budget_of(SolveOptions(time_limit_s=0.5, deterministic=True)),
        lambda _solution: None,
    )

    assert len(Answer(found).plan.placements) == WAITING
