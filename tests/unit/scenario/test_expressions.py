"""What an object or an expression about what there is holds of it."""

from __future__ import annotations

from typing import Any

import pytest

from stowage_testbed.scenario.expression import Expression, ExpressionError
from stowage_testbed.scenario.subset import Difference, find_differences

VALUES = {
    "pods": [
        {"metadata": {"name": "a"}, "spec": {"nodeName": "n1", "cpu": "500m"}},
        {"metadata": {"name": "b"}, "spec": {"cpu": "1"}},
    ],
    "objects": {"batch": {"status": {"state": "Open"}}},
    "metrics": {"t": 1.5, "none": None},
}
STATE = "objects.batch.status.state"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("pods.size() == 2", ""),
        ("pods.exists(p, has(p.spec.nodeName) && p.spec.nodeName == 'n1')", ""),
        (f"{STATE} == 'Open' && metrics.t < 2.0", ""),
        ("sum(pods.map(p, amount(p.spec.cpu))) == 1.5", ""),
        ("metrics.none == null", ""),
        ("pods.size() == 3", "pods.size() is 2"),
        ("pods.size() == 2 && metrics.t > 2.0", "metrics.t is 1.5"),
        (f"{STATE} == 'a == b'", f"{STATE} is Open"),
        ("pods[5].metadata.name == 'a'", "index out of bounds"),
        ("objects.other.status.state == 'a'", "there is no 'other'"),
        ("unknown == 1", "Undefined variable or function: 'unknown'"),
        ("pods.map(p, p.metadata.name)", "it is ['a', 'b'], not true or false"),
        (f"amount({STATE}) > 1.0", "is not a quantity"),
    ],
)
def test_an_expression_holds_or_says_what_it_has_read(text: str, read: str) -> None:
    """What was wrong must be found without another run."""
    held = Expression(text).look(VALUES)

    assert held.holds == (not read)
    assert read in held.read


@pytest.mark.parametrize(
    ("text", "column"), [("pods.all(p, p ==", 17), ("a b", 3), ("", 1)]
)
def test_what_is_no_expression_is_refused_with_its_column(
    text: str, column: int
) -> None:
    """When the file is read, long before a cluster is up."""
    with pytest.raises(ExpressionError) as caught:
        Expression(text)

    assert caught.value.column == column


POD = {
    "metadata": {"name": "web", "labels": {"a": "b"}},
    "spec": {
        "containers": [
            {"name": "main", "image": "x", "args": ["1", "2"]},
            {"name": "side", "image": "y"},
        ],
        "nodeName": "n1",
    },
    "status": {"conditions": [{"type": "Ready", "status": "True"}]},
}


def having(**container: Any) -> dict[str, Any]:
    return {"spec": {"containers": [container]}}


@pytest.mark.parametrize(
    ("wanted", "path", "differs"),
    [
        ({}, "", ()),
        ({"metadata": {"labels": {"a": "b"}}}, "", ()),
        (having(name="side", image="y"), "", ()),
        (having(name="main", args=["1", "2"]), "", ()),
        ({"status": {"conditions": [{"type": "Ready"}]}}, "", ()),
        ({"spec": {"nodeName": "n2"}}, "nodeName", ("n2", "n1")),
        ({"spec": {"hostNetwork": True}}, "hostNetwork", (True, None)),
        (having(name="side", image="z"), "containers[side].image", ("z", "y")),
        (having(name="none"), "containers[none]", ({"name": "none"}, None)),
        (having(name="main", args=["1"]), "containers[main].args", (["1"], ["1", "2"])),
        (having(name="main", args=["1", "3"]), "containers[main].args[1]", ("3", "2")),
        ({"spec": {"nodeName": {"a": 1}}}, "nodeName", ({"a": 1}, "n1")),
    ],
)
def test_a_field_that_differs_is_named_by_its_path(
    wanted: dict[str, Any], path: str, differs: tuple[Any, ...]
) -> None:
    """What is not named is not looked at; elements are found wherever they stand."""
    found = [Difference(f"spec.{path}", *differs)] if differs else []
    assert list(find_differences(wanted, POD)) == found
