"""Which nodes a fault may be about."""

from __future__ import annotations

import pytest
from seen_states import Seen, plan, state_of

from benchmarks.faults.context import planned_nodes

NODES = ("a", "b", "c", "d")


def node(name: str) -> Seen:
    return "Node", {"metadata": {"uid": name, "name": name}}


def moving_plan() -> Seen:
    kind, body = plan("p", "Completed")
    body["status"]["moves"] = [{"fromNode": "a", "toNode": "b"}]
    body["status"]["placements"] = [{"node": "c"}]
    return kind, body


@pytest.mark.parametrize(
    ("role", "names"), [("source", ["a"]), ("target", ["b"]), ("bystander", ["d"])]
)
def test_each_role_has_its_nodes(role: str, names: list[str]) -> None:
    """A fault of the wrong node would prove nothing about the plan."""
    state = state_of(*map(node, NODES), moving_plan())

    assert planned_nodes(state, NODES, role) == names


@pytest.mark.parametrize("role", ["source", "target", "bystander"])
def test_a_node_that_has_gone_is_none_of_them(role: str) -> None:
    """The newest plan may have ended long ago; a soak loses nodes all the time."""
    assert planned_nodes(state_of(moving_plan()), NODES, role) == []


def test_without_a_plan_there_is_none() -> None:
    """Then the fault says so, and the try is drawn again."""
    assert planned_nodes(state_of(*map(node, NODES)), NODES, "bystander") == []
