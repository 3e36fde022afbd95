"""A plan for another scheduler's pods is tried, and what does not hold is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from stowage_testbed.defragment.rehearsal import (
    Leaving,
    Rehearsal,
    Rehearsed,
    most_that_holds,
    replacement,
)
from stowage_testbed.simulate import Instance, Placements


def _pod(name: str, node: str = "") -> dict[str, Any]:
    spec = {"nodeName": node} if node else {}
    meta = {"namespace": "ns", "name": name, "uid": name, "labels": {"app": "a"}}
    return {"metadata": meta, "spec": spec, "status": {"phase": "Running"}}


INSTANCE = Instance(
    "i",
    nodes=tuple({"metadata": {"name": name}} for name in ("n1", "n2", "n3", "idle")),
    pods=(_pod("a", "n1"), _pod("b", "n2"), _pod("waits")),
)


@dataclass
class FakeSimulator:
    """Says where the pods are."""

    nodes: dict[str, str | None]
    asked: list[Instance] = field(default_factory=list)

    def place(self, instance: Instance) -> Placements:
        self.asked.append(instance)
        reasons = {pod: "0/4 nodes" for pod, node in self.nodes.items() if node is None}
        return Placements("i", self.nodes, reasons=reasons)


def rehearsed(nodes: dict[str, str | None], *leaving: Leaving) -> Rehearsed:
    simulator: Any = FakeSimulator(nodes)
    used = frozenset({"n1", "n2", "n3"})
    return Rehearsal(simulator, INSTANCE, frozenset({"idle"}), used).of(leaving)


A, B = Leaving("n1", ("a",)), Leaving("n2", ("b",))


def test_pods_are_evicted_one_by_one_once_their_nodes_and_idle_ones_are_tainted() -> (
    None
):
    """So a live cluster sees it: an idle node would take what was to go elsewhere."""
    simulator: Any = FakeSimulator({"ns/a-again": "n3", "ns/b-again": "n3"})
    rehearsal = Rehearsal(simulator, INSTANCE, frozenset({"idle"}), frozenset({"n3"}))

    rehearsal.of([A, B])

    (asked,) = simulator.asked
    assert [pod["metadata"]["name"] for pod in asked.pods] == [
        "a", "b", "waits", "a-again", "b-again",
    ]  # fmt: skip
    *taints, first, second = asked.changes
    assert [one["node"]["metadata"]["name"] for one in taints] == ["n1", "n2", "idle"]
    assert {one["after"] for one in taints} == {3}
    (taint,) = taints[0]["node"]["spec"]["taints"]
    assert taint == {"key": "stowage.dev/emptying", "effect": "NoSchedule"}
    assert (first, second) == (
        {"after": 3, "podGone": "ns/a"},
        {"after": 4, "podGone": "ns/b"},
    )


def test_where_nobody_waits_nodes_are_tainted_from_the_start() -> None:
    """Each change of a node makes the scheduler look around, a thousand take long."""
    simulator: Any = FakeSimulator({"ns/a-again": "n3"})
    nobody = replace(INSTANCE, pods=INSTANCE.pods[:2])

    Rehearsal(simulator, nobody, frozenset({"idle"}), frozenset({"n3"})).of([A])

    (asked,) = simulator.asked
    tainted = [one["metadata"]["name"] for one in asked.nodes if "spec" in one]
    assert tainted == ["n1", "idle"]
    assert asked.changes == ({"after": 2, "podGone": "ns/a"},)


def test_a_replacement_is_the_pod_without_what_only_the_first_one_had() -> None:
    """Its controller makes it anew: without a node, an identity or a state."""
    made = replacement(_pod("a", "n1"))

    assert made["spec"] == {}
    assert made["metadata"] == {
        "namespace": "ns",
        "name": "a-again",
        "labels": {"app": "a"},
    }
    assert "status" not in made


@pytest.mark.parametrize(
    ("nodes", "failed"),
    [
        ({"ns/a-again": "n3", "ns/b-again": "n3"}, set()),
        ({"ns/a-again": None, "ns/b-again": "n3"}, {"n1"}),
        ({"ns/a-again": "n2", "ns/b-again": "n3"}, {"n2"}),
        ({"ns/a-again": "new", "ns/b-again": "n3"}, {"n1"}),
        ({"ns/a-again": "n3", "ns/b-again": "n3", "ns/waits": "n1"}, {"n1"}),
    ],
    ids=["all placed", "no place", "tolerates", "opens a node", "waiting pod"],
)
def test_a_node_fails_that_would_not_be_empty_or_cost_another(
    nodes: dict[str, str | None], failed: set[str]
) -> None:
    """What is told to be saved must be saved when it is done."""
    assert set(rehearsed(nodes, A, B).failed) == failed


def _fits(most: int) -> Any:
    """Return a rehearsal in which the last nodes fail, beyond so many."""

    def rehearse(leaving: Sequence[Leaving]) -> Rehearsed:
        calls.append(len(leaving))
        return Rehearsed(
            {uid: "n" for one in leaving for uid in one.pods},
            {one.node: "full" for one in leaving[most:]},
        )

    calls: list[int] = []
    rehearse.calls = calls  # type: ignore[attr-defined]
    return rehearse


WANTED = [Leaving(f"n{number}", (f"p{number}",)) for number in range(10)]


@pytest.mark.parametrize("most", [0, 1, 4, 9, 10])
def test_as_many_nodes_are_emptied_as_the_scheduler_finds_places_for(most: int) -> None:
    """And those with the best gain first."""
    kept = most_that_holds(_fits(most), WANTED, lambda: 100.0, lambda: 0.0)

    assert list(kept.leaving) == WANTED[:most]
    assert set(kept.targets) == {f"p{number}" for number in range(most)}
    assert set(kept.failed) == {f"n{number}" for number in range(most, 10)}


def test_with_no_time_left_the_plan_still_holds() -> None:
    """Less is proposed then, but nothing that was not tried as it is."""
    rehearse = _fits(4)

    kept = most_that_holds(rehearse, WANTED, lambda: -1.0, lambda: 0.0)

    assert list(kept.leaving) == WANTED[:4]
    assert rehearse.calls == [10, 4]
