"""Label selectors as kubectl takes them: ``pool=spot,zone in (a, b)``, ``!gpu``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from stowage_testbed.base.errors import InputError

_KEY = r"[A-Za-z0-9][A-Za-z0-9._/-]*"
_VALUE = r"[A-Za-z0-9._-]*"
_OF_A_SET = re.compile(rf"(?P<key>{_KEY})\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)")
_EQUAL = re.compile(rf"(?P<key>{_KEY})\s*(?P<operator>==?|!=)\s*(?P<value>{_VALUE})")
_THERE = re.compile(rf"(?P<no>!?)\s*(?P<key>{_KEY})")
_COMMA = re.compile(r",(?![^()]*\))")
"""One that stands in no brackets."""

_OPERATORS = {"in": "In", "notin": "NotIn", "=": "In", "==": "In", "!=": "NotIn"}


def parse_selector(text: str) -> dict[str, Any]:
    """Return a LabelSelector of requirements; an InputError says what of the text is none."""
    parts = [_requirement(part.strip()) for part in _COMMA.split(text)]
    return {"matchExpressions": parts}


def _requirement(part: str) -> dict[str, Any]:
    if found := _OF_A_SET.fullmatch(part):
        values = [one.strip() for one in found["values"].split(",")]
        if all(re.fullmatch(_VALUE, one) for one in values):
            return _made(found["key"], _OPERATORS[found["operator"]], values)
    elif found := _EQUAL.fullmatch(part):
        return _made(found["key"], _OPERATORS[found["operator"]], [found["value"]])
    elif found := _THERE.fullmatch(part):
        return _made(found["key"], "DoesNotExist" if found["no"] else "Exists")
    raise InputError(
        f"{part!r} selects no labels; write key=value, key!=value, key in (a, b), "
        "key notin (a, b), key or !key, with commas between"
    )


def _made(key: str, operator: str, values: list[str] | None = None) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": values} if values else {})}


def both(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return a LabelSelector that selects what both do."""
    return {
        "matchExpressions": [
            requirement
            for selector in (one, other)
            for requirement in (
                *(_made(key, "In", [value]) for key, value in (selector.get("matchLabels") or {}).items()),
                *(selector.get("matchExpressions") or ()),
            )
        ]
    }
