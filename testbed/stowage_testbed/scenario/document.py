"""A YAML file as plain values, each of which knows its line and column."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from stowage_testbed.scenario.aliases import find_alias_issue
from stowage_testbed.scenario.errors import Issue

Key = str | int
Place = tuple[Key, ...]
"""Where a value stands in its document: keys and list indices from the root."""

_BOOLEAN = {"yes": True, "true": True, "on": True}


@dataclass(frozen=True, slots=True)
class Mark:
    """A line and a column, from 1."""

    line: int
    column: int


@dataclass(slots=True)
class Document:
    """Plain values with the place of every value and of every mapping key."""

    data: object = None
    values: dict[Place, Mark] = field(default_factory=dict)
    keys: dict[Place, Mark] = field(default_factory=dict)

    def mark(self, place: Place, *, of_key: bool = False) -> Mark:
        """Return where a value or a key stands, or the nearest thing around it."""
        if of_key and place in self.keys:
            return self.keys[place]
        while place and place not in self.values:
            place = place[:-1]
        return self.values.get(place, Mark(1, 1))


def compose(path: Path, text: str) -> tuple[yaml.Node | None, list[Issue]]:
    """Parse a text; issues are broken YAML, duplicate keys, and endless aliases."""
    try:
        if too_large := find_alias_issue(path, text):
            return None, [too_large]
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        message = f"this is not YAML: {error.problem}; check indentation and quotes"
        return None, [Issue(path, line, column, message)]
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        message = f"this is not text: {error.reason}; remove the character"
        return None, [Issue(path, line, 1, message)]
    if root is None:
        message = "the file is empty; start it with `name:` and `description:`"
        return None, [Issue(path, 1, 1, message)]
    return root, list(_find_duplicate_keys(path, root))


def read_node(node: yaml.Node) -> Document:
    """Turn a node into plain values; mapping keys are always text."""
    document = Document()
    document.data = _read_plain(node, (), document)
    return document


def mark_of(node: yaml.Node) -> Mark:
    """Return where a node begins."""
    return Mark(node.start_mark.line + 1, node.start_mark.column + 1)


def entries_of(node: yaml.Node | None) -> Mapping[str, tuple[yaml.Node, yaml.Node]]:
    """Return a mapping node's key and value nodes by key; nothing for other nodes."""
    if not isinstance(node, yaml.MappingNode):
        return {}
    return {str(key.value): (key, value) for key, value in node.value}


def _find_duplicate_keys(path: Path, root: yaml.Node) -> Iterator[Issue]:
    unseen, met = [root], {id(root)}
    while unseen:
        node = unseen.pop()
        inner = list(node.value) if isinstance(node, yaml.SequenceNode) else []
        lines: dict[str, int] = {}
        for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
            here = mark_of(key)
            name = str(key.value)
            if name in lines:
                message = f"key {name!r} stands already in line {lines[name]}; keep one"
                yield Issue(path, here.line, here.column, message)
            lines.setdefault(name, here.line)
            inner.append(value)
        # What several aliases name is looked at once.
        unseen += [one for one in inner if id(one) not in met]
        met.update(map(id, inner))


def _read_plain(node: yaml.Node, place: Place, document: Document) -> object:
    document.values[place] = mark_of(node)
    if isinstance(node, yaml.MappingNode):
        mapping: dict[str, object] = {}
        for key, value in node.value:
            inner = (*place, str(key.value))
            document.keys[inner] = mark_of(key)
            mapping[str(key.value)] = _read_plain(value, inner, document)
        return mapping
    if isinstance(node, yaml.SequenceNode):
        return [_read_plain(n, (*place, i), document) for i, n in enumerate(node.value)]
    return _read_scalar(node)


def _read_scalar(node: yaml.Node) -> object:
    """Return a scalar's value; what is no number, truth value or null is text."""
    if not isinstance(node, yaml.ScalarNode):
        return None
    constructor = yaml.constructor.SafeConstructor()
    text = str(node.value)
    match node.tag.rpartition(":")[2]:
        case "int":
            return constructor.construct_yaml_int(node)
        case "float":
            number = constructor.construct_yaml_float(node)
            return number if math.isfinite(number) else text
        case "bool":
            return _BOOLEAN.get(text.lower(), False)
        case "null":
            return None
    return text
