"""The page of the chart's values, from `values.yaml`, its comments and its schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from docs.tooling.markdown import code, page, table
from docs.tooling.schema_tree import type_of, words
from stowage_testbed.helm.install import CHART

NOTE = """\
This page is generated from `charts/stowage/values.yaml`, whose comments it shows, and
`values.schema.json`, which Helm checks every installation with. A comment also holds
for the values right below it that have none.
"""


@dataclass(frozen=True, slots=True)
class Value:
    """A value of the chart; ``default`` is as YAML would have it."""

    path: tuple[str, ...]
    default: Any
    comment: str
    schema: dict[str, Any]

    @property
    def name(self) -> str:
        """The value as `--set` names it."""
        return ".".join(self.path)


def chart_values_page() -> str:
    """Return the page: a table for each value at the top that has others below."""
    found = list(chart_values())
    single = [one for one in found if len(one.path) == 1]
    parts = ["## The release\n", _table(single)]
    for top in dict.fromkeys(one.path[0] for one in found if len(one.path) > 1):
        parts.append(f"## {top}\n")
        parts.append(_table([one for one in found if one.path[0] == top]))
    return page("Chart values", NOTE, *parts)


def chart_values() -> Iterator[Value]:
    """Yield every value that has no values below it, in the order of the file."""
    text = (CHART / "values.yaml").read_text("utf-8")
    schema = json.loads((CHART / "values.schema.json").read_text("utf-8"))
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    assert isinstance(root, yaml.MappingNode)  # noqa: S101 - for the type checker
    yield from _values(root, (), schema, text.splitlines())


def _values(node: yaml.MappingNode, path: tuple[str, ...], schema: dict[str, Any], lines: list[str]) -> Iterator[Value]:
    for key, value in node.value:
        inner = schema.get("properties", {}).get(key.value, {})
        place = (*path, str(key.value))
        comment = _comment(lines, key.start_mark.line)
        if isinstance(value, yaml.MappingNode) and inner.get("properties"):
            if comment:
                yield Value(place, None, comment, {})
            yield from _values(value, place, inner, lines)
        else:
            default = yaml.safe_load(yaml.serialize(value))
            yield Value(place, default, comment, inner)


def _comment(lines: list[str], line: int) -> str:
    """Return the comment right above a line."""
    found: list[str] = []
    while line and lines[line - 1].lstrip().startswith("#"):
        line -= 1
        # The dashes are for helm-docs, which makes the chart's README.
        found.insert(0, lines[line].lstrip().removeprefix("#").strip().removeprefix("-- "))
    return " ".join(found)


def _table(values: list[Value]) -> str:
    return table(("value", "type", "default", "meaning"), [_row(one) for one in values])


def _row(value: Value) -> tuple[str, str, str, str]:
    if not value.schema:
        return code(value.name), "", "", value.comment
    said = words(value.schema)
    meaning = " ".join(part for part in (value.comment, said) if part)
    default = json.dumps(value.default)
    return code(value.name), type_of(value.schema), code(default), meaning
