"""The files of the live page: all of them used, and a map that needs no colours."""

from __future__ import annotations

import re
from importlib.resources import files
from itertools import pairwise

import pytest
from colours import contrast, luminance

from stowage_testbed.live.document import PACKAGE

ASSETS = files(PACKAGE) / "assets"
STEPS = 9


def heats() -> list[list[str]]:
    """Return the colours of the map, from empty to full, in light and in dark."""
    style = (ASSETS / "page.css").read_text(encoding="utf-8")
    found = re.findall(r"--heat-\d: (#\w{6})", style)
    return [found[:STEPS], found[STEPS:]]


@pytest.mark.parametrize(("theme", "brighter"), [(0, False), (1, True)])
def test_the_map_is_read_by_brightness_alone(theme: int, brighter: bool) -> None:
    """Whoever does not see its colours sees the fuller node darker, or lighter."""
    steps = heats()[theme]
    assert len(steps) == STEPS
    for one, other in pairwise(steps):
        assert (luminance(other) > luminance(one)) is brighter
        assert contrast(one, other) > 1.1
