"""What an object or an expression about what there is holds of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from stowage_testbed.scenario.expression import Expression, ExpressionError
from stowage_testbed.scenario.subset import Difference, find_differences

CASES: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("expressions.yaml").read_text("utf-8"))


@pytest.mark.parametrize(("text", "read"), CASES["expressions"].items())
def test_an_expression_holds_or_says_what_it_has_read(text: str, read: str) -> None:
    """What was wrong must be found without another run."""
    held = Expression(text).look(CASES["values"])

    assert held.holds == (not read)
    assert read in held.read


@pytest.mark.parametrize(("text", "column"), CASES["none"].items())
def test_what_is_no_expression_is_refused_with_its_column(text: str, column: int) -> None:
    """When the file is read."""
    with pytest.raises(ExpressionError) as caught:
        Expression(text)

    assert caught.value.column == column


@pytest.mark.parametrize("part", CASES["parts"])
def test_a_field_that_differs_is_named_by_its_path(part: list[Any]) -> None:
    """Else a reader has to compare two objects by eye."""
    wanted, *differs = part
    found = [Difference(*differs)] if differs else []
    assert list(find_differences(wanted, CASES["object"])) == found
