"""What takes nodes away while a policy is tried, and the figures of an arm."""

from typing import Any

from stowage_testbed.observe.node import Node
from stowage_testbed.policyday.evaluation import figures_of, pods_as_they_may_move
from stowage_testbed.policyday.policy import Window, find_arm
from stowage_testbed.policyday.trial import IDLE_S, Autoscaler, Trial, WindowOutcome, nodes_in_use
from stowage_testbed.simulate.virtual_time import Life, PassedTime
from stowage_testbed.trace.format import Header, NodeSeen, Owner, PodCame
from stowage_testbed.trace.reading import Trace
from stowage_testbed.whatif.settings import LABEL

HOUR_S = 3600.0


def make_scaler() -> Autoscaler:
    room = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    nodes = (NodeSeen(t=0, name=name, node=Node(room, room)) for name in "abc")
    return Autoscaler(Trace(Header(1, "2026-01-05T00:00:00Z", "1.37.2"), tuple(nodes)))


def make_state(nodes: str, *pods: tuple[str, str]) -> dict[str, Any]:
    """Return a state of nodes and of pods by node and CPU."""
    return {
        "nodes": [{"metadata": {"name": name}} for name in nodes],
        "pods": [
            {"metadata": {}, "spec": {"nodeName": node, "containers": [{"resources": {"requests": {"cpu": cpu}}}]}}
            for node, cpu in pods
        ],
    }


def test_a_node_goes_when_it_was_empty_for_long_enough_and_no_pod_waits() -> None:
    """One that held a pod meanwhile begins anew; a pod may wait for that very node."""
    scaler, waited_for = make_scaler(), make_scaler()
    states = [
        (0.0, make_state("abc", ("a", "1"))),
        (IDLE_S / 2, make_state("abc", ("a", "1"), ("b", "1"))),
        (IDLE_S, make_state("abc", ("a", "1"))),
    ]

    happened = [list(scaler.look(at_s, state)) for at_s, state in states]

    assert happened == [[], [], [{"at": IDLE_S, "nodeGone": "c"}]]
    list(waited_for.look(0, make_state("abc")))
    assert list(waited_for.look(IDLE_S, make_state("abc", ("", "99")))) == []


def test_nodes_come_back_when_pods_wait_and_no_more_than_these_need() -> None:
    """All at once would spread the pods over them again."""
    scaler = make_scaler()
    for at_s in (0.0, IDLE_S):
        list(scaler.look(at_s, make_state("abc")))

    few = scaler.look(700, make_state("", ("", "3")))
    assert [event["node"]["metadata"]["name"] for event in few] == ["c"]
    many = scaler.look(710, make_state("a", ("", "5"), ("", "3")))
    assert [event["node"]["metadata"]["name"] for event in many] == ["b", "a"]


def test_the_figures_of_a_day_are_of_what_nodes_held_and_what_was_moved() -> None:
    """To the cent: an hour of each node in use is its label's price."""
    room = {"cpu": "4"}
    daemon = PodCame(t=0, namespace="d", name="x", of="daemon", owner=Owner("DaemonSet", "x"))
    nodes = (
        NodeSeen(t=0, name="n", node=Node(room, room, {LABEL: "0.17"})),
        NodeSeen(t=0, name="m", node=Node(room, room, {LABEL: "no price"})),
    )
    day = Trace(Header(1, "2026-01-05T00:00:00Z", "1.37.2"), (*nodes, daemon))

    def live(pod: str, node: str, at_h: float, to_h: float | None, **more: Any) -> Life:
        end_s = None if to_h is None else to_h * HOUR_S
        return Life(pod, "kind", at_h * HOUR_S, at_h * HOUR_S, node, end_s, **more)

    lives = (
        # Two pods at once cost one node, and a gap between two costs none.
        live("d/a", "n", 0, 1, how="evicted"),
        live("d/a-again-1", "n", 0.5, 1.5, how="evicted", replaces="d/a"),
        live("d/a-again-2", "n", 1.0, 1.2, how="succeeded", replaces="d/a"),
        live("d/b", "n", 3, None),
        live("d/c", "m", 3, None),
        Life("d/waits", "kind", HOUR_S),
        Life("d/x", "daemon", 0, 0, "m"),
    )
    outcome = WindowOutcome(Window(0, HOUR_S))
    outcome.used_before = frozenset({"moved-off", "by-itself", "filled-again", "back"})
    outcome.used_after = frozenset({"filled-again", "back"})
    outcome.left = ["moved-off", "filled-again", "came-later", "back"]
    outcome.gone = {"by-itself", "back"}
    passed = PassedTime(lives, 4 * HOUR_S)

    found = figures_of(Trial(find_arm("none"), passed, (outcome,)), day, HOUR_S)
    calm = figures_of(Trial(find_arm("none"), passed, ()), day, HOUR_S / 4)

    assert (found.node_hours, found.nodes_mean) == (3.5, 0.875)
    assert (found.cost_micros, found.waiting_pod_hours) == (425_000, 3)
    # The replacement has another name; it is the same pod to its users.
    assert (found.moved_twice, calm.moved_twice) == (1, 0)
    # One that is needed later did go; one that filled again did not, nor one that emptied itself.
    assert (found.emptied, found.moves, found.moves_per_node) == (2, 4, 2)
    assert found.windows[0].returned == 1
    assert (calm.emptied, calm.moves, calm.moves_per_node) == (0, 0, None)


def make_pod(name: str, node: str, **metadata: Any) -> dict[str, Any]:
    labels = {"app": "web"}
    return {
        "metadata": {"namespace": "d", "name": name, "labels": labels, **metadata},
        "spec": {"nodeName": node} if node else {},
    }


def test_pods_of_daemon_sets_keep_no_node_in_use() -> None:
    """They are on every node; none would ever be empty."""
    daemon = make_pod("x", "m", ownerReferences=[{"kind": "DaemonSet"}])
    pods = [make_pod("a", "n"), make_pod("b", ""), daemon]

    assert nodes_in_use({"pods": pods}) == {"n"}


def test_pods_that_cool_down_are_not_to_be_moved() -> None:
    """What could be emptied is proved within what a policy would do."""
    pods = [make_pod("a", "n", annotations={"x": "y"}), make_pod("b", "n")]

    kept, free = pods_as_they_may_move({"pods": pods, "coolingDown": ["d/a"]})

    annotations = {"x": "y", "stowage.dev/do-not-move": "true"}
    assert kept["metadata"]["annotations"] == annotations
    assert free == pods[1]
    assert pods[0]["metadata"]["annotations"] == {"x": "y"}
