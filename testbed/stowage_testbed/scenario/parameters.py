"""Parameters of a scenario: typed, set by variants, used as `${name}`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from stowage_testbed.scenario.document import Mark, entries_of, mark_of
from stowage_testbed.scenario.errors import Issue

PLACEHOLDER = re.compile(r"\$\{\s*([^}]*?)\s*\}")

FIXED_SECTIONS = ("name", "description", "parameters", "variants")
"""Sections in which no parameter is used: they say what the scenario is."""

_TAGS = {"integer": ("int",), "number": ("int", "float"), "text": ("str",), "list": ("seq",), "mapping": ("map",)}


Entries = Mapping[str, tuple[yaml.Node, yaml.Node]]


@dataclass(slots=True)
class Substitution:
    """One filling-in of parameters; remembers which were used and what went wrong."""

    path: Path
    values: Mapping[str, yaml.Node]
    used: set[str] = field(default_factory=set)
    issues: list[Issue] = field(default_factory=list)

    def fill(self, node: yaml.Node) -> yaml.Node:
        """Return a node with every placeholder replaced."""
        if isinstance(node, yaml.MappingNode):
            filled = [(key, self.fill(value)) for key, value in node.value]
            return yaml.MappingNode(node.tag, filled, node.start_mark, node.end_mark, node.flow_style)
        if isinstance(node, yaml.SequenceNode):
            items = [self.fill(item) for item in node.value]
            return yaml.SequenceNode(node.tag, items, node.start_mark, node.end_mark, node.flow_style)
        whole = PLACEHOLDER.fullmatch(str(node.value))
        if whole:
            return self._value(whole[1], node) or node
        text = PLACEHOLDER.sub(lambda match: self._text(match, node), str(node.value))
        return yaml.ScalarNode(node.tag, text, node.start_mark, node.end_mark)

    def _value(self, name: str, node: yaml.Node) -> yaml.Node | None:
        self.used.add(name)
        if name in self.values:
            return self.values[name]
        at = mark_of(node)
        message = f"no parameter is called {name!r}; {_suggest_known(name, self.values)}"
        self.issues.append(Issue(self.path, at.line, at.column, message))
        return None

    def _text(self, match: re.Match[str], node: yaml.Node) -> str:
        value = self._value(match[1], node)
        if value is None or isinstance(value, yaml.ScalarNode):
            return match[0] if value is None else str(value.value)
        at = mark_of(node)
        message = f"parameter {match[1]!r} is no single value and cannot stand inside a text; use ${{{match[1]}}} alone"
        self.issues.append(Issue(self.path, at.line, at.column, message))
        return match[0]


def substitute(root: yaml.Node, substitution: Substitution) -> yaml.Node:
    """Fill in the parameters, outside the sections that say what the scenario is."""
    if not isinstance(root, yaml.MappingNode):
        return root
    filled = [(key, value if key.value in FIXED_SECTIONS else substitution.fill(value)) for key, value in root.value]
    return yaml.MappingNode(root.tag, filled, root.start_mark, root.end_mark)


def read_variant_values(root: yaml.Node) -> dict[str | None, dict[str, yaml.Node]]:
    """Return the parameters' values of the default run (None) and of each variant."""
    sections = entries_of(root)
    defaults: dict[str, yaml.Node] = {}
    for name, (_, declaration) in _read_section(sections, "parameters").items():
        if "default" in entries_of(declaration):
            defaults[name] = entries_of(declaration)["default"][1]
    values: dict[str | None, dict[str, yaml.Node]] = {None: defaults}
    for variant, (_, body) in _read_section(sections, "variants").items():
        changes = _read_section(entries_of(body), "set")
        values[variant] = defaults | {name: node for name, (_, node) in changes.items()}
    return values


def check_parameters(path: Path, root: yaml.Node, used: set[str]) -> list[Issue]:
    """Return unused parameters, unknown ones in variants, and values of wrong type."""
    sections = entries_of(root)
    declared = _read_section(sections, "parameters")
    issues: list[Issue] = []

    def add(at: Mark, message: str) -> None:
        issues.append(Issue(path, at.line, at.column, message))

    types: dict[str, str] = {}
    for name, (key, declaration) in declared.items():
        body = entries_of(declaration)
        if name not in used:
            message = f"parameter {name!r} is never used; write ${{{name}}} or remove it"
            add(mark_of(key), message)
        if "type" in body:
            types[name] = str(body["type"][1].value)
        if "default" in body and not _fits(types.get(name), body["default"][1]):
            add(mark_of(body["default"][1]), _explain_type(name, types[name]))
    for _, variant in _read_section(sections, "variants").values():
        changes = _read_section(entries_of(variant), "set")
        for name, (key, value) in changes.items():
            if name not in declared:
                message = f"no parameter is called {name!r}; {_suggest_known(name, declared)}"
                add(mark_of(key), message)
            elif not _fits(types.get(name), value):
                add(mark_of(value), _explain_type(name, types[name]))
    return issues


def _read_section(sections: Entries, name: str) -> Entries:
    return entries_of(sections[name][1]) if name in sections else {}


def _fits(kind: str | None, node: yaml.Node) -> bool:
    tags = _TAGS.get(kind or "")
    return tags is None or node.tag.rpartition(":")[2] in tags


def _explain_type(name: str, kind: str) -> str:
    return f"parameter {name!r} takes values of type {kind}; write one, or change type"


def _suggest_known(name: str, known: Mapping[str, object]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    if known:
        return f"declared are {', '.join(known)}"
    return "declare it under `parameters`"
