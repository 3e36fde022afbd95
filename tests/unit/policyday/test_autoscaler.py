"""What takes empty nodes away and brings them back."""

from __future__ import annotations

from typing import Any

from stowage_testbed.policyday.autoscaler import IDLE_S, Autoscaler
from stowage_testbed.trace.format import Header, Node, NodeSeen
from stowage_testbed.trace.reading import Trace

ROOM = {"cpu": "4", "memory": "8Gi", "pods": "10"}
DAY = Trace(
    Header(1, "2026-01-05T00:00:00Z", "1.37.2"),
    tuple(NodeSeen(t=0, name=name, node=Node(ROOM, ROOM)) for name in ("a", "b", "c")),
)


def make_state(nodes: str, *pods: tuple[str, str]) -> dict[str, Any]:
    """Return a state of nodes and of pods by node and CPU."""
    return {
        "nodes": [{"metadata": {"name": name}} for name in nodes],
        "pods": [
            {
                "metadata": {},
                "spec": {
                    "nodeName": node,
                    "containers": [{"resources": {"requests": {"cpu": cpu}}}],
                },
            }
            for node, cpu in pods
        ],
    }


def test_a_node_goes_when_it_was_empty_for_long_enough() -> None:
    """One that held a pod meanwhile begins anew."""
    scaler = Autoscaler(DAY)
    states = [
        (0.0, make_state("abc", ("a", "1"))),
        (IDLE_S / 2, make_state("abc", ("a", "1"), ("b", "1"))),
        (IDLE_S, make_state("abc", ("a", "1"))),
    ]

    happened = [list(scaler.look(at_s, state)) for at_s, state in states]

    assert happened == [[], [], [{"at": IDLE_S, "nodeGone": "c"}]]


def test_nodes_come_back_when_pods_wait_and_no_more_than_these_need() -> None:
    """All at once would spread the pods over them again."""
    scaler = Autoscaler(DAY)
    for at_s in (0.0, IDLE_S):
        list(scaler.look(at_s, make_state("abc")))

    few = list(scaler.look(700, make_state("", ("", "3"))))
    many = list(scaler.look(710, make_state("a", ("", "5"), ("", "3"))))

    assert [event["node"]["metadata"]["name"] for event in few] == ["c"]
    assert [event["node"]["metadata"]["name"] for event in many] == ["b", "a"]


def test_no_node_goes_while_pods_wait() -> None:
    """They may wait for that very one."""
    scaler = Autoscaler(DAY)
    list(scaler.look(0, make_state("abc")))

    assert list(scaler.look(IDLE_S, make_state("abc", ("", "99")))) == []
