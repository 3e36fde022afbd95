"""Selectors of labels are read as kubectl reads them."""

from __future__ import annotations

import pytest

from stowage_testbed.api.label_selector import both, parse_selector
from stowage_testbed.base.errors import InputError
from stowage_testbed.invariants.selector import selects

SPOT, WEB = {"pool": "spot", "zone": "a"}, {"pool": "web"}


@pytest.mark.parametrize(
    ("text", "spot", "web"),
    [
        ("pool=spot", True, False),
        ("pool == spot", True, False),
        ("pool!=spot", False, True),
        ("pool in (spot, web)", True, True),
        ("pool notin (spot),!zone", False, True),
        ("zone", True, False),
        ("pool in (spot,web),zone=a", True, False),
        ("!example.com/gpu", True, True),
    ],
)
def test_each_form_selects_what_it_does_in_kubectl(text: str, spot: bool, web: bool) -> None:
    """The same text is given to kubectl before, to see which nodes it means."""
    selector = parse_selector(text)

    assert (selects(selector, SPOT), selects(selector, WEB)) == (spot, web)


@pytest.mark.parametrize("text", ["", "a=b=c", "pool=spot,", "pool in spot", "a>1"])
def test_what_selects_nothing_is_refused(text: str) -> None:
    """A selector that is misread might empty the wrong nodes."""
    with pytest.raises(InputError, match="write key=value"):
        parse_selector(text)


def test_two_selectors_together_select_what_both_do() -> None:
    """A release's own selector of namespaces stays in force."""
    selector = both({"matchLabels": {"pool": "spot"}}, parse_selector("zone"))

    assert selects(selector, SPOT)
    assert not selects(selector, {"pool": "spot"})
