"""Expressions in CEL about what there is at a moment."""

from __future__ import annotations

import pytest

from stowage_testbed.scenario.expression import Expression, ExpressionError

VALUES = {
    "pods": [
        {"metadata": {"name": "a"}, "spec": {"nodeName": "n1", "cpu": "500m"}},
        {"metadata": {"name": "b"}, "spec": {"cpu": "1"}},
    ],
    "objects": {"batch": {"status": {"state": "Open"}}},
    "metrics": {"t": 1.5, "none": None},
}


@pytest.mark.parametrize(
    "text",
    [
        "pods.size() == 2",
        "pods.exists(p, has(p.spec.nodeName) && p.spec.nodeName == 'n1')",
        "objects.batch.status.state == 'Open' && metrics.t < 2.0",
        "sum(pods.map(p, amount(p.spec.cpu))) == 1.5",
        "metrics.none == null",
    ],
)
def test_an_expression_holds_or_does_not(text: str) -> None:
    """Its opposite is what would go unnoticed."""
    assert Expression(text).look(VALUES).holds
    assert not Expression(f"!({text})").look(VALUES).holds


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("pods.size() == 3", "pods.size() is 2"),
        ("pods.size() == 2 && metrics.t > 2.0", "metrics.t is 1.5"),
        (
            "objects.batch.status.state == 'a == b'",
            "objects.batch.status.state is Open",
        ),
        ("pods[5].metadata.name == 'a'", "index out of bounds"),
        ("objects.other.status.state == 'a'", "there is no 'other'"),
        ("unknown == 1", "Undefined variable or function: 'unknown'"),
        ("pods.map(p, p.metadata.name)", "it is ['a', 'b'], not true or false"),
        ("amount(objects.batch.status.state) > 1.0", "is not a quantity"),
    ],
)
def test_a_failing_expression_says_what_it_has_read(text: str, read: str) -> None:
    """What was wrong must be found without another run."""
    held = Expression(text).look(VALUES)

    assert not held.holds
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
