"""Which devices an expression selects, and which expressions cannot be evaluated."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from stowage_testbed.observe.device_selectors import is_selected, make_view

TABLE = yaml.safe_load(Path(__file__).with_name("selectors.yaml").read_text("utf-8"))
CASES = {expression: wanted for case in TABLE["cases"] for expression, wanted in case.items()}


def selects(expression: str, **changed: Any) -> bool | None:
    """Return what an expression says of the table's device with changes, whose maps are merged."""
    device: dict[str, Any] = {
        name: {**value, **changed.get(name, {})} if isinstance(value, dict) else changed.get(name, value)
        for name, value in TABLE["device"].items()
    }
    view = make_view(device["driver"], device["attributes"], device["capacity"], shared=device["shared"])
    return is_selected(view, expression)


@pytest.mark.parametrize("expression", CASES)
def test_an_expression_selects_what_it_selects_in_kubernetes(expression: str) -> None:
    """A class that selects other devices here is counted wrongly, in every utilisation."""
    assert selects(expression) is CASES[expression]


@pytest.mark.parametrize("case", TABLE["told_apart"], ids=lambda case: case["by"])
def test_devices_that_differ_in_what_is_read_have_answers_of_their_own(case: dict[str, Any]) -> None:
    """Answers are kept, since a fleet has thousands of devices that differ only in what nobody reads."""
    changed = {name: value for name, value in case.items() if name != "by"}

    assert (selects(case["by"]), selects(case["by"], **changed)) == (True, False)
