"""The command blocks of a page, and what a reader is told to expect of them.

A command block is fenced and called ``sh``. One that no test can run says why::

    ```sh norun="needs a cluster of yours"

What a block prints may follow it, as a block ``text`` with the title "Expected output".
Each of its lines must occur in a line that was printed: the words between two ``...``
in their order, and with any white space between them.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, replace
from pathlib import Path

PARTS = ("tutorial", "how-to")
"""Folders whose blocks are run."""

_BLOCK = re.compile(r"^(?P<indent> *)```(?P<info>(?:sh|text)\b[^\n]*)\n(?P<body>.*?)^(?P=indent)```$", re.M | re.S)
_NORUN = re.compile(r'^sh norun="([^"]*)"$')
_EXPECTED = 'text title="Expected output"'
_ANYTHING = "..."


class UnreadableBlockError(ValueError):
    """A fence says something that is not known here; names page and line."""


@dataclass(frozen=True, slots=True)
class CommandBlock:
    """Commands, as they stand on a page.

    Attributes
    ----------
    line
        Of the fence, from 1.
    norun
        Why no test runs it; ``None`` if one does.
    expected
        Lines that must occur in what it prints.
    """

    page: Path
    line: int
    text: str
    norun: str | None
    expected: tuple[str, ...] = ()


def pages(docs: Path) -> list[Path]:
    """Return the pages whose blocks are run, in their order."""
    return sorted(page for part in PARTS for page in (docs / part).rglob("*.md"))


def command_blocks(page: Path) -> list[CommandBlock]:
    """Return the blocks of a page, in their order.

    Raises
    ------
    UnreadableBlockError
        An info string is wrong, or an output follows no commands.
    """
    text = page.read_text("utf-8")
    found: list[CommandBlock] = []
    open_for_output = False
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        info, body = match["info"].strip(), textwrap.dedent(match["body"])
        if info == _EXPECTED:
            if not open_for_output:
                raise UnreadableBlockError(f"{page}:{line}: output of no commands")
            lines = tuple(one for one in body.splitlines() if one.strip())
            found[-1] = replace(found[-1], expected=lines)
            open_for_output = False
        elif info.startswith("sh"):
            norun = _NORUN.match(info)
            if info != "sh" and norun is None:
                raise UnreadableBlockError(f"{page}:{line}: what is {info!r}?")
            found.append(CommandBlock(page, line, body, norun[1] if norun else None))
            open_for_output = norun is None
    return found


def missing(expected: tuple[str, ...], said: str) -> list[str]:
    """Return the expected lines that do not occur in what was printed."""
    printed = [" ".join(line.split()) for line in said.splitlines()]
    return [line for line in expected if not any(_pattern(line).search(one) for one in printed)]


def _pattern(line: str) -> re.Pattern[str]:
    parts = (" ".join(part.split()) for part in line.split(_ANYTHING))
    return re.compile(".*".join(re.escape(part) for part in parts))
