"""The files of the live page: all of them used, and a map that needs no colours."""

from __future__ import annotations

import re
from importlib.resources import files
from itertools import pairwise

import pytest
from colours import contrast, luminance

from stowage_testbed.live.document import PACKAGE, SCRIPTS

ASSETS = files(PACKAGE) / "assets"
STEPS = 9


def heats() -> list[list[str]]:
    """Return the colours of the map, from empty to full, in light and in dark."""
    style = (ASSETS / "page.css").read_text(encoding="utf-8")
    found = re.findall(r"--heat-\d: (#\w{6})", style)
    return [found[:STEPS], found[STEPS:]]


def test_every_script_of_the_folder_is_on_the_page() -> None:
    """A file that is forgotten in the list is a page that does not start."""
    own = {file.name for file in ASSETS.iterdir() if file.name.endswith(".js")}
    assert own <= set(SCRIPTS)


@pytest.mark.parametrize(("theme", "brighter"), [(0, False), (1, True)])
def test_the_map_is_read_by_brightness_alone(theme: int, brighter: bool) -> None:
    """Whoever does not see its colours sees the fuller node darker, or lighter."""
    steps = heats()[theme]
    assert len(steps) == STEPS
    for one, other in pairwise(steps):
        assert (luminance(other) > luminance(one)) is brighter
        assert contrast(one, other) > 1.1
