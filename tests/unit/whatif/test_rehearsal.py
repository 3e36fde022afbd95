"""Which nodes are worth emptying, in which turn, and what of a plan holds."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pytest

from stowage_testbed.simulate.instance import Instance, Placements
from stowage_testbed.whatif.emptying import cost_of_move
from stowage_testbed.whatif.engine import Leaving, Rehearsal, most_that_holds, rehearse


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


def tried(nodes: dict[str, str | None]) -> tuple[Rehearsal, Instance]:
    simulator: Any = FakeSimulator(nodes)
    used = frozenset({"n1", "n2", "n3"})
    found = rehearse(simulator, INSTANCE, frozenset({"idle"}), used, {"n1": ("a",), "n2": ("b",)})
    (asked,) = simulator.asked
    return found, asked


def test_pods_are_evicted_one_by_one_once_their_and_idle_nodes_are_tainted() -> None:
    """So a live cluster sees it: an idle node would take what was to go elsewhere."""
    _, asked = tried({"ns/a-again": "n3", "ns/b-again": "n3"})

    names = [pod["metadata"]["name"] for pod in asked.pods]
    assert names == ["a", "b", "waits", "a-again", "b-again"]
    # A controller makes it anew: without a node, an identity or a state.
    metadata = {"namespace": "ns", "name": "a-again", "labels": {"app": "a"}}
    anew = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {}}
    assert asked.pods[3] == anew
    *taints, first, second = asked.changes
    assert [one["node"]["metadata"]["name"] for one in taints] == ["n1", "n2", "idle"]
    assert {one["after"] for one in taints} == {3}
    (taint,) = taints[0]["node"]["spec"]["taints"]
    assert taint == {"key": "stowage.dev/emptying", "effect": "NoSchedule"}
    assert first == {"after": 3, "podGone": "ns/a"}
    assert second == {"after": 4, "podGone": "ns/b"}


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
def test_a_node_fails_that_would_not_be_empty_or_cost_another(nodes: dict[str, str | None], failed: set[str]) -> None:
    """What is told to be saved must be saved when it is done."""
    (_, found), _ = tried(nodes)
    assert set(found) == failed


WANTED = {f"n{number}": (f"p{number}",) for number in range(10)}


@pytest.mark.parametrize(
    ("most", "ends_s", "calls"),
    [
        (0, 100.0, None),
        (1, 100.0, None),
        (4, 100.0, None),
        (9, 100.0, None),
        (10, 100.0, None),
        # With no time left, less is proposed, yet nothing that was not tried as it is.
        (4, -1.0, [10, 4]),
    ],
)
def test_as_many_nodes_are_emptied_as_the_scheduler_finds_places_for(
    most: int, ends_s: float, calls: list[int] | None
) -> None:
    """And those with the best gain first."""
    asked: list[int] = []

    def tried_again(leaving: Leaving) -> Rehearsal:
        asked.append(len(leaving))
        targets = {uid: "n" for pods in leaving.values() for uid in pods}
        return targets, dict.fromkeys(list(leaving)[most:], "full")

    leaving, targets, failed = most_that_holds(tried_again, WANTED, lambda: ends_s, lambda: 0.0)

    assert list(leaving) == list(WANTED)[:most]
    assert set(targets) == {f"p{number}" for number in range(most)}
    assert set(failed) == {f"n{number}" for number in range(most, 10)}
    assert calls is None or asked == calls


@pytest.mark.parametrize(
    ("deletion_cost", "priority", "cost"),
    [
        (0, 0, Fraction(1)),
        (2**27, 0, Fraction(2)),
        (0, 2**25, Fraction(2)),
        (-(2**31), 0, Fraction(1, 10)),
        (2**26, 2**24, Fraction(2)),
    ],
)
def test_a_pod_costs_more_to_move_the_more_it_matters(deletion_cost: int, priority: int, cost: Fraction) -> None:
    """The numbers are those of Karpenter's own cost of a disruption."""
    assert cost_of_move(deletion_cost, priority) == cost
