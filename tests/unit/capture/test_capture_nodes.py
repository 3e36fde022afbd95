"""Nodes are folded into kinds, and each is found again under its new name."""

from __future__ import annotations

from found_cluster import node

from stowage_testbed.capture.nodes import NOT_READY, capture_nodes


def test_equal_nodes_are_one_kind_with_zones_dealt_out() -> None:
    """Two hundred nodes are read as three lines."""
    nodes = [node(f"ip-10-{n}", zone="ab"[n % 2], rack=str(n)) for n in range(5)]

    captured = capture_nodes(nodes, ())

    (pool,) = captured.pools
    assert (pool.name_prefix, pool.count, pool.zones) == ("ip-10", 5, ("a", "b"))
    assert captured.names == {f"ip-10-{n}": f"ip-10-{n}" for n in range(5)}
    assert dict(pool.labels) == {}


def test_every_node_keeps_its_zone() -> None:
    """A pod that is placed again must find the zone that its volume is in."""
    zones = {"x": "b", "y": "a", "z": "a", "w": "b", "v": "a"}

    captured = capture_nodes(
        [node(name, zone=zone) for name, zone in zones.items()], ()
    )

    made = {
        one["metadata"]["name"]: one["metadata"]["labels"][
            "topology.kubernetes.io/zone"
        ]
        for pool in captured.pools
        for one in pool.manifests()
    }
    assert {name: made[captured.names[name]] for name in zones} == zones


def test_zones_that_cannot_be_dealt_out_are_kinds_of_their_own() -> None:
    """With four in one and one in another, turns would give others."""
    nodes = [node(f"n{n}", zone="b" if n == 4 else "a") for n in range(5)]

    captured = capture_nodes(nodes, ())

    assert [(pool.count, pool.zones) for pool in captured.pools] == [
        (4, ("a",)),
        (1, ("b",)),
    ]
    assert len({pool.name_prefix for pool in captured.pools}) == 2


def test_a_label_stays_where_pods_ask_about_it() -> None:
    """All others would keep equal nodes apart."""
    nodes = [node("n0", disk="ssd", rack="1"), node("n1", disk="hdd", rack="2")]

    captured = capture_nodes(nodes, {"disk"})

    assert [dict(pool.labels) for pool in captured.pools] == [
        {"disk": "ssd"},
        {"disk": "hdd"},
    ]


def test_a_node_that_does_not_answer_takes_no_pods() -> None:
    """Its fake would be ready, and lose the taint that says otherwise."""
    taints = [
        {"key": "node.kubernetes.io/unreachable", "effect": effect}
        for effect in ("NoSchedule", "NoExecute")
    ]

    captured = capture_nodes([node("n0", taints=taints), node("n1")], ())

    silent = captured.pools[0].taints
    assert [(one.key, one.effect) for one in silent] == [(NOT_READY, "NoSchedule")]
    assert captured.pools[1].taints == ()


def test_a_closed_node_is_closed_again() -> None:
    """Kubernetes' own taint of such a node comes with it."""
    closed = node(
        "n1",
        taints=[{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}],
    )
    closed["spec"]["unschedulable"] = True

    captured = capture_nodes([node("n0"), closed], ())

    assert captured.cordoned == (captured.names["n1"],)
    assert [pool.taints for pool in captured.pools] == [()]


def test_kinds_with_the_name_of_another_get_a_letter() -> None:
    """A number would make the name of a kind that of a node."""
    nodes = [node("pool-1", "4"), node("pool-2", "8"), node("pool-3", "16")]

    captured = capture_nodes(nodes, ())

    assert [pool.name_prefix for pool in captured.pools] == ["pool", "pool-b", "pool-c"]
