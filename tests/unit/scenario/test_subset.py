"""Whether an object has at least what is written down of it."""

from __future__ import annotations

from typing import Any

import pytest

from stowage_testbed.scenario.subset import Difference, find_differences

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


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"metadata": {"labels": {"a": "b"}}},
        {"spec": {"containers": [{"name": "side", "image": "y"}]}},
        {"spec": {"containers": [{"name": "main", "args": ["1", "2"]}]}},
        {"status": {"conditions": [{"type": "Ready"}]}},
    ],
)
def test_what_is_not_named_is_not_looked_at(wanted: dict[str, Any]) -> None:
    """Elements of lists are found by what tells them apart, wherever they stand."""
    assert list(find_differences(wanted, POD)) == []


@pytest.mark.parametrize(
    ("wanted", "difference"),
    [
        ({"spec": {"nodeName": "n2"}}, Difference("spec.nodeName", "n2", "n1")),
        ({"spec": {"hostNetwork": True}}, Difference("spec.hostNetwork", True, None)),
        (
            {"spec": {"containers": [{"name": "side", "image": "z"}]}},
            Difference("spec.containers[side].image", "z", "y"),
        ),
        (
            {"spec": {"containers": [{"name": "none"}]}},
            Difference("spec.containers[none]", {"name": "none"}, None),
        ),
        (
            {"spec": {"containers": [{"name": "main", "args": ["1"]}]}},
            Difference("spec.containers[main].args", ["1"], ["1", "2"]),
        ),
        (
            {"spec": {"containers": [{"name": "main", "args": ["1", "3"]}]}},
            Difference("spec.containers[main].args[1]", "3", "2"),
        ),
        ({"spec": {"nodeName": {"a": 1}}}, Difference("spec.nodeName", {"a": 1}, "n1")),
    ],
)
def test_a_field_that_differs_is_named_by_its_path(
    wanted: dict[str, Any], difference: Difference
) -> None:
    """Else a reader has to compare two objects by eye."""
    assert list(find_differences(wanted, POD)) == [difference]
