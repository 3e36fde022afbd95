"""Node pools from a short line, exact, and with every issue named."""

from __future__ import annotations

import pytest
from amounts import size

from stowage_testbed.cluster.node_pool import (
    ZONE_LABEL,
    NodePool,
    NodePoolError,
    Taint,
)
from stowage_testbed.cluster.node_spec import parse_node_spec, parse_node_specs


def test_a_full_spec_is_read() -> None:
    """Everything that a pool can have, as the documentation writes it."""
    spec = (
        "prefix=gpu,count=3,cpu=1500m,memory=8Gi,pods=20,label.zone=a,label.x.io/y=1,"
        "taint.gpu=yes:NoSchedule,taint.spare=:NoExecute,zones=a|b,"
        "resource.nvidia.com/gpu=4"
    )

    assert parse_node_spec(spec) == NodePool(
        name_prefix="gpu",
        count=3,
        resources=size(1500, 8 << 30, 20, {"nvidia.com/gpu": 4}),
        labels={"zone": "a", "x.io/y": "1"},
        taints=(Taint("gpu", "NoSchedule", "yes"), Taint("spare", "NoExecute")),
        zones=("a", "b"),
    )


@pytest.mark.parametrize(
    ("spec", "issues"),
    [
        ("cpu=-4,memory=8Gi", ["cpu: '-4' is negative"]),
        ("cpu=4,memory=0", ["memory: '0' must be more than 0"]),
        ("cpu=4,memory=8GB", ["memory: '8GB' is not a quantity"]),
        ("cpu=0.0001,memory=1", ["cpu: '0.0001' is finer than 1m"]),
        ("count=1.5,cpu=4,memory=1", ["count: '1.5' is no whole number"]),
        ("count=1e6,cpu=4,memory=1", ["count is 1000000"]),
        ("count=3", ["cpu is missing", "memory is missing"]),
        ("cpu=4,cpu=5,memory=1", ["cpu is given twice"]),
        ("cpu=4,memory=1,mem=2", ["'mem' is none of prefix, count, cpu"]),
        ("cpu=4,memory=1,big", ["'big' is not KEY=VALUE"]),
        ("cpu=4,memory=1,prefix=Über", ["cannot begin a node's name"]),
        ("cpu=4,memory=1,taint.a=b", ["taint.a: 'b' must end in an effect"]),
        ("cpu=x,memory=y,foo=1", ["cpu: 'x'", "memory: 'y'", "'foo' is none of"]),
    ],
)
def test_issues_are_all_named_with_field_and_value(
    spec: str, issues: list[str]
) -> None:
    """One issue a run would take many runs."""
    with pytest.raises(NodePoolError) as caught:
        parse_node_spec(spec)

    assert len(caught.value.issues) == len(issues)
    for issue in issues:
        assert issue in str(caught.value)


def test_two_pools_of_one_name_are_refused() -> None:
    """Their nodes would have the same names."""
    with pytest.raises(NodePoolError, match="a second pool is called 'node'"):
        parse_node_specs(["cpu=1,memory=1Gi", "cpu=2,memory=1Gi"])


def test_names_sort_as_numbers_do() -> None:
    """Ties go to the first node by name, so node-10 must not come before node-2."""
    names = NodePool("node", 11, size(1000, 1)).node_names()

    assert names[0] == "node-00"
    assert names == sorted(names)


def test_zones_are_dealt_out_in_turn() -> None:
    """A spread constraint needs all of them."""
    pool = NodePool("node", 3, size(1000, 1), zones=("a", "b"))

    labels = [manifest["metadata"]["labels"] for manifest in pool.manifests()]

    assert [label[ZONE_LABEL] for label in labels] == ["a", "b", "a"]


def test_sizes_reach_the_node_exactly() -> None:
    """A rounded byte can decide whether the last pod fits."""
    pool = NodePool("node", 1, size(1001, 2**33 + 1, more={"nvidia.com/gpu": 2}))

    status = pool.manifests()[0]["status"]

    assert status["allocatable"] == {
        "cpu": "1001m",
        "memory": "8589934593",
        "pods": "110",
        "nvidia.com/gpu": "2",
    }
    assert status["capacity"] == status["allocatable"]


def test_a_pool_without_room_names_every_such_size() -> None:
    """Scenarios build pools too, and their issues must be as clear."""
    with pytest.raises(NodePoolError, match=r"count is 0.*cpu is -1"):
        NodePool("node", 0, size(-1, 1))
