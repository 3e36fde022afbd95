"""The files that the page is made of: all of them used, and readable by everybody."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest
from colours import contrast

from stowage_testbed.compare.html.page import PACKAGE, SCRIPTS
from stowage_testbed.page.offline import PACKAGE as SHARED

ASSETS = [files(package) / "assets" for package in (PACKAGE, SHARED)]
TEXT = ("ink", "quiet", "accent", "good", "bad")
LINES = (*(f"series-{number}" for number in range(8)), "series-other")


def themes() -> dict[str, dict[str, str]]:
    """Return the colours of light, dark and print, by their names."""
    style = (ASSETS[1] / "base.css").read_text(encoding="utf-8")
    blocks = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    found = [dict(re.findall(r"--([\w-]+): (#\w{6})", block)) for block in blocks]
    light, dark, printed = found
    return {"light": light, "dark": {**light, **dark}, "print": {**light, **printed}}


def test_contrast_is_that_of_the_standard() -> None:
    """Black on white is 21 to 1."""
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", ["light", "dark", "print"])
def test_text_and_lines_stand_out_from_the_paper(theme: str) -> None:
    """WCAG 2.2: 4.5 to 1 for text (1.4.3), 3 to 1 for what carries meaning (1.4.11)."""
    colours = themes()[theme]

    for name in TEXT:
        assert contrast(colours[name], colours["paper"]) >= 4.5, name
    for name in LINES:
        assert contrast(colours[name], colours["paper"]) >= 3, name
    for name in ("good", "bad"):
        assert contrast(colours[name], colours[f"{name}-back"]) >= 4.5, name


def test_every_script_of_the_folder_is_on_the_page() -> None:
    """A file that is forgotten in the list is a page that does not start."""
    names = {file.name for folder in ASSETS for file in folder.iterdir()}
    names = {name for name in names if name.endswith(".js")}

    assert names == set(SCRIPTS)
