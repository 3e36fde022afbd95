"""The figures of an arm's day."""

from __future__ import annotations

from typing import Any

from stowage_testbed.policyday.arms import find_arm
from stowage_testbed.policyday.figures import (
    count_moved_twice,
    figures_of,
    used_by_node,
)
from stowage_testbed.policyday.state import nodes_in_use, pods_as_they_may_move
from stowage_testbed.policyday.trial import Trial, WindowTold
from stowage_testbed.policyday.windows import Window
from stowage_testbed.simulate.virtual_time import Life, PassedTime
from stowage_testbed.trace.format import Header, Node, NodeSeen, Owner, PodCame
from stowage_testbed.trace.reading import Trace
from stowage_testbed.whatif.prices import LABEL

HOUR_S = 3600.0


def live(
    pod: str, node: str, bound_s: float, ended_s: float | None = None, **more: Any
) -> Life:
    """Return a pod's life that was bound when it came."""
    return Life(pod, "kind", bound_s, bound_s, node, ended_s, **more)


def test_a_node_is_in_use_while_it_holds_any_pod() -> None:
    """Two pods at once cost one node, and a gap between two costs none."""
    lives = [
        live("d/a", "n", 0, 10),
        live("d/b", "n", 5, 20),
        live("d/c", "n", 6, 8),
        live("d/d", "n", 50),
        live("d/e", "m", 90),
        Life("d/waits", "kind", 0.0),
    ]

    assert used_by_node(lives, 100) == {"n": 70, "m": 10}
    assert used_by_node(lives, 100, frozenset({"kind"})) == {}


def test_a_pod_that_is_moved_again_within_the_cool_down_is_counted() -> None:
    """The replacement has another name; it is the same pod to its users."""
    lives = [
        live("d/a", "n", 0, 100, how="evicted"),
        live("d/a-again-1", "m", 100, 150, how="evicted", replaces="d/a"),
        live("d/a-again-2", "n", 150, 900, how="evicted", replaces="d/a"),
        live("d/b", "n", 0, 110, how="evicted"),
        live("d/b-again-1", "n", 110, 120, how="succeeded", replaces="d/b"),
    ]

    assert count_moved_twice(lives, 60) == 1
    assert count_moved_twice(lives, 3600) == 2


def test_a_node_counts_as_emptied_if_pods_were_moved_off_it_for_good() -> None:
    """Not one that emptied itself, nor one that filled again within the window.

    One that went and came back, as later pods found no room, did go: on a morning with
    rising demand nobody keeps a node away that is needed.
    """
    told = WindowTold(Window(0, HOUR_S))
    told.used_before = frozenset({"moved-off", "by-itself", "filled-again", "back"})
    told.used_after = frozenset({"filled-again", "back"})
    told.left = ["moved-off", "filled-again", "came-later", "back"]
    told.gone = {"by-itself", "back"}

    assert told.emptied == {"moved-off", "back"}
    assert told.returned == {"back"}


def test_a_day_costs_what_its_nodes_in_use_cost() -> None:
    """To the cent: an hour of each node is its label's price."""
    room = {"cpu": "4"}
    day = Trace(
        Header(1, "2026-01-05T00:00:00Z", "1.37.2"),
        (
            NodeSeen(t=0, name="n", node=Node(room, room, {LABEL: "0.17"})),
            NodeSeen(t=0, name="free", node=Node(room, room, {LABEL: "0"})),
            PodCame(t=0, namespace="d", name="a", of="kind", owner=Owner("Job", "a")),
        ),
    )  # fmt: skip
    lives = (live("d/a", "n", 0, 2 * HOUR_S), Life("d/waits", "kind", HOUR_S))
    passed = PassedTime(lives, 4 * HOUR_S, 0, 0, 0.0, 0)

    found = figures_of(Trial(find_arm("none"), passed, ()), day, 0)

    assert (found.node_hours, found.nodes_mean) == (2, 0.5)
    assert found.cost_micros == 340_000
    assert found.waiting_pod_hours == 3
    assert (found.emptied, found.moves, found.moves_per_node) == (0, 0, None)


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
