"""How deep and how large a YAML file is with every alias written out.

A few lines can stand for more values than fit into memory (the "billion laughs"), so
this is found out from the parser's events, before anything is built from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

from stowage_testbed.scenario.errors import Issue

DEEPEST = 40
MOST_BY_ALIASES = 10_000
"""Values that all aliases of a file may stand for together: those of a thousand steps
that share a long setting."""


@dataclass(slots=True)
class _Value:
    """A value, or what has been read of it: how many it is, and how many deep."""

    anchor: str | None = None
    values: int = 1
    height: int = 0

    def take(self, inner: _Value) -> None:
        self.values += inner.values
        self.height = max(self.height, 1 + inner.height)


def find_alias_issue(path: Path, text: str) -> Issue | None:
    """Return where a file becomes too deep, or its aliases too large, if it does.

    Raises
    ------
    yaml.YAMLError
        It is not YAML.
    """
    file = _File()
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if message := file.take(event):
            mark = event.start_mark
            line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
            return Issue(path, line, column, message)
    return None


class _File:
    """What has been read of a file."""

    def __init__(self) -> None:
        self._opened = [_Value()]
        self._finished: dict[str, _Value] = {}
        self._by_aliases = 0

    def take(self, event: yaml.Event) -> str:
        """Take in the next event, and return what is wrong with it, if anything."""
        value, message = None, ""
        match event:
            case yaml.AliasEvent():
                # One that is not there is found when the file is composed.
                anchor = str(event.anchor)
                value = self._finished.get(anchor, _Value())
                message = self._refusal(anchor, value)
            case yaml.CollectionStartEvent():
                self._opened.append(_Value(event.anchor))
            case yaml.CollectionEndEvent():
                value = self._opened.pop()
            case yaml.ScalarEvent():
                value = _Value(event.anchor)
        if len(self._opened) + (value.height if value else 0) > DEEPEST:
            return f"this is nested more than {DEEPEST} deep; write it flatter"
        if value is not None:
            self._opened[-1].take(value)
            if value.anchor is not None:
                self._finished[value.anchor] = value
        return message

    def _refusal(self, anchor: str, value: _Value) -> str:
        if any(one.anchor == anchor for one in self._opened):
            return "an alias contains itself; write the value out"
        self._by_aliases += value.values
        if self._by_aliases <= MOST_BY_ALIASES:
            return ""
        return (
            f"up to *{anchor} the aliases of this file stand for "
            f"{self._by_aliases:,} values, of at most {MOST_BY_ALIASES:,}; write the "
            "values out, or leave some away"
        )
