"""What the pages tell readers to do: marked, reasoned, and with paths that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.tooling.command_blocks import command_blocks, missing, pages

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PAGES = pages(DOCS)
ROOMS = (
    "benchmarks", "charts", "ci", "docs", "optimizer", "scenarios", "scheduler",
    "testbed", "tests",
)  # fmt: skip
_CODE = re.compile(r"`([^`\n]+)`")
_FENCED = re.compile(r"^ *```.*?^ *```$", re.M | re.S)
_TARGET = re.compile(r"^ *make ([a-z][-a-z0-9]*)", re.M)


def ids(page: Path) -> str:
    return str(page.relative_to(DOCS))


def paths(page: Path) -> list[str]:
    """Return what a page shows as code and what begins like a path of the checkout.

    What its own commands write is left out.
    """
    text = _FENCED.sub("", page.read_text("utf-8"))
    commands = "\n".join(block.text for block in command_blocks(page))
    return [
        word
        for word in _CODE.findall(text)
        if "/" in word and " " not in word and word.partition("/")[0] in ROOMS and f"> {word}" not in commands
    ]


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_the_blocks_of_a_page_can_be_read(page: Path) -> None:
    """A fence with a typing error would be left out in silence."""
    blocks = command_blocks(page)

    fences = re.findall(r"^ *```sh", page.read_text("utf-8"), re.M)
    assert len(blocks) == len(fences)


@pytest.mark.parametrize("page", [ROOT / "README.md", *DOCS.rglob("*.md")], ids=str)
def test_every_path_and_make_target_on_a_page_exists(page: Path) -> None:
    """Code is moved by people who do not read every page."""
    gone = []
    for path in paths(page):
        known = path.partition("<")[0].rstrip("/")
        if "<" in path and not path[: path.index("<")].endswith("/"):
            known = str(Path(known).parent)
        if not list(ROOT.glob(known)):
            gone.append(path)

    assert gone == []
    targets = set(re.findall(r"^([a-z0-9][-a-z0-9]*):", (ROOT / "Makefile").read_text(), re.M))
    text = page.read_text("utf-8")
    commands = [*_FENCED.findall(text), *_CODE.findall(text)]

    assert {t for one in commands for t in _TARGET.findall(one)} <= targets


def test_an_expected_line_occurs_whatever_stands_between() -> None:
    """Times differ from run to run; words must not."""
    said = "run 1\npaper/figure-1   -   2 → 3  in 9.1 s   passed\n"

    assert missing(("figure-1 ... 2 → 3 ... passed", "run   1"), said) == []
    assert missing(("figure-1 ... FAILED", "passed ... figure-1"), said) == [
        "figure-1 ... FAILED",
        "passed ... figure-1",
    ]
