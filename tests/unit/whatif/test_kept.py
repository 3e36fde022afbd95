"""Which rules keep pods where they are, and whom they stand in the way of."""

from __future__ import annotations

from pathlib import Path

import pytest

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.errors import InputError
from stowage_testbed.whatif.findings import Kept
from stowage_testbed.whatif.kept import KeptPods, left_pending
from stowage_testbed.whatif.reading import rules_of

KEPT_ON_N1 = (("a", "singleton"), ("b", "singleton"), ("free", ""))


@pytest.fixture
def snapshot() -> pb.Snapshot:
    """Return two nodes of 8; on the first two pods of 1 are kept, on the second one."""
    room = pb.Resources(memory_bytes=8, pods=10)
    made = pb.Snapshot(nodes=[pb.Node(name=name, allocatable=room) for name in "12"])
    for size in (1, 7, 9):
        made.pod_classes.add(
            id=f"of-{size}",
            namespace="ns",
            owner=pb.Owner(name=f"size-{size}"),
            requests=pb.Resources(memory_bytes=size),
        )
    for name, rule in KEPT_ON_N1:
        _running(made, name, "1", rule)
    _running(made, "c", "2", "job")
    return made


def _running(snapshot: pb.Snapshot, name: str, node: str, rule: str) -> None:
    snapshot.pods.add(
        uid=name,
        namespace="ns",
        name=name,
        node=node,
        class_id="of-1",
        movable=not rule,
        immovable_reason=rule,
    )


def test_each_rule_is_counted_with_one_of_its_pods(snapshot: pb.Snapshot) -> None:
    """A number alone cannot be looked up in the cluster."""
    assert tuple(KeptPods(snapshot).by_rule()) == (
        Kept("singleton", 2, "ns/a"),
        Kept("job", 1, "ns/c"),
    )


@pytest.mark.parametrize(("size", "rules"), [(6, ()), (7, ("singleton",)), (9, ())])
def test_a_rule_is_in_the_way_where_it_keeps_the_room_that_is_missing(
    snapshot: pb.Snapshot, size: int, rules: tuple[str, ...]
) -> None:
    """One pod of 1 leaves room for 7; nobody makes room for 9 on a node of 8."""
    asked = pb.Resources(memory_bytes=size)

    assert KeptPods(snapshot).in_the_way_of(asked) == rules


def test_pending_pods_get_the_rules_in_the_way(snapshot: pb.Snapshot) -> None:
    """The owner of the rule is the next to ask."""
    snapshot.pods.add(uid="w", namespace="ns", name="w", class_id="of-7")

    (left,) = left_pending(snapshot, pb.Plan(optimal=True), (), KeptPods(snapshot))

    assert left.reason == "no plan places it: proved"
    assert left.rules == ("singleton",)


def test_the_rules_are_those_of_the_release_that_is_asked_for(tmp_path: Path) -> None:
    """Values that are not read would answer another question."""
    file = tmp_path / "values.yaml"
    file.write_text("priorityOptimizer: {evictJobs: true}\nprofile: optimizer\n")
    assert rules_of(file) == {"evictJobs": True}

    for text in ("[1, 2]", "priorityOptimizer: true", "a: ["):
        file.write_text(text)
        with pytest.raises(InputError, match="helm get values"):
            rules_of(file)
