"""A YAML file as plain values, each of which knows its line and column, and its issues."""

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.files import read_text
from stowage_testbed.scenario.steps.action import Where
from stowage_testbed.text.tables import count


@dataclass(frozen=True, slots=True, order=True)
class Issue:
    """One issue of a scenario file; lines and columns count from 1."""

    path: Path
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.message}"


class ScenarioIssuesError(StowageError):
    """Scenario files have issues; all of them are named."""

    def __init__(self, issues: Sequence[Issue], where: str = "the scenario files") -> None:
        self.issues = tuple(sorted(set(issues)))
        lines = "\n".join(f"  {issue}" for issue in self.issues)
        super().__init__(f"{count(len(self.issues), 'issue')} in {where}:\n{lines}")


PLACEHOLDER = re.compile(r"\$\{\s*([^}]*?)\s*\}")

FIXED = ("name", "description", "parameters", "variants")
"""Sections in which no parameter is used: they say what the scenario is."""

_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "integer": int,
    "number": (int, float),
    "text": str,
    "list": list,
    "mapping": dict,
}


@dataclass(slots=True)
class Document:
    """Plain values with the place of every value and of every mapping key."""

    path: Path
    data: Any = None
    values: dict[Where, yaml.Mark] = field(default_factory=dict)
    keys: dict[Where, yaml.Mark] = field(default_factory=dict)
    issues: list[Issue] = field(default_factory=list)

    def report(self, place: Where, message: str, *, of_key: bool = False) -> None:
        """Add an issue of a value or a key, or of the nearest thing around it."""
        self.issues.append(Issue(self.path, *self._find(place, of_key=of_key), message))

    def line(self, place: Where) -> int:
        """Return the line of a value."""
        return self._find(place)[0]

    def _find(self, place: Where, *, of_key: bool = False) -> tuple[int, int]:
        mark = self.keys.get(place) if of_key else None
        while mark is None and place and place not in self.values:
            place = place[:-1]
        mark = mark or self.values.get(place)
        return (mark.line + 1, mark.column + 1) if mark else (1, 1)


def compose(path: Path, way_out: str) -> yaml.Node:
    """Parse a file; raises a ScenarioIssuesError if it is no YAML, and a StowageError if it cannot be read."""
    try:
        text = read_text(path)
    except OSError as error:
        raise StowageError(f"cannot read {path}: {error.strerror}{way_out}") from error
    except UnicodeDecodeError as error:
        raise StowageError(f"cannot read {path}: it is neither UTF-8 nor UTF-16 text{way_out}") from error
    line, column = 1, 1
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        if error.problem_mark:
            line, column = error.problem_mark.line + 1, error.problem_mark.column + 1
        message = f"this is not YAML: {error.problem}; check indentation and quotes"
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        message = f"this is not text: {error.reason}; remove the character"
    except RecursionError:
        message = "this is nested too deeply, or an alias contains itself; write it flatter"
    else:
        if root is not None:
            return root
        message = "the file is empty; start it with `name:` and `description:`"
    raise ScenarioIssuesError([Issue(path, line, column, message)])


@dataclass(slots=True)
class Parameters:
    """The values of a run's parameters; ``used`` takes the names of those that its file uses."""

    values: Mapping[str, yaml.Node]
    used: set[str] = field(default_factory=set)

    def find(self, name: str, place: Where, document: Document) -> yaml.Node | None:
        """Return the value of a parameter, or report that there is none."""
        self.used.add(name)
        if name not in self.values:
            way_out = suggest_known(name, list(self.values)) if self.values else "declare it under `parameters`"
            document.report(place, f"no parameter is called {name!r}; {way_out}")
        return self.values.get(name)


def read_node(path: Path, root: yaml.Node, issues: list[Issue], parameters: Parameters | None = None) -> Document:
    """Turn a node into plain values, with every placeholder outside `FIXED` replaced if there are parameters.

    Mapping keys are always text; ``issues`` takes those that stand twice, and placeholders that cannot be replaced.
    """
    document = Document(path, issues=issues)
    document.data = _read_plain(root, (), document, parameters)
    return document


def read_variant_values(root: yaml.Node) -> dict[str | None, dict[str, yaml.Node]]:
    """Return the parameters' values of the default run (None) and of each variant."""
    sections = _entries_of(root)
    declared = _entries_of(sections.get("parameters"))
    defaults = {name: body["default"] for name, one in declared.items() if "default" in (body := _entries_of(one))}
    values: dict[str | None, dict[str, yaml.Node]] = {None: defaults}
    for name, one in _entries_of(sections.get("variants")).items():
        values[name] = defaults | _entries_of(_entries_of(one).get("set"))
    return values


def check_parameters(document: Document, used: set[str]) -> None:
    """Report unused parameters, unknown ones in variants, and values of a wrong type, of a file as it is written."""
    declared, variants = (_mapping(document.data, key) for key in ("parameters", "variants"))
    for name in declared.keys() - used:
        message = f"parameter {name!r} is never used; write ${{{name}}} or remove it"
        document.report(("parameters", name), message, of_key=True)
    defaults = {name: one["default"] for name, one in declared.items() if isinstance(one, dict) and "default" in one}
    values: list[tuple[Where, str, Any]] = [(("parameters", one, "default"), one, defaults[one]) for one in defaults]
    for variant, body in variants.items():
        values += [(("variants", variant, "set", one), one, value) for one, value in _mapping(body, "set").items()]
    for place, name, value in values:
        if name not in declared:
            message = f"no parameter is called {name!r}; {suggest_known(name, list(declared))}"
            document.report(place, message, of_key=True)
            continue
        kind = declared[name].get("type") if isinstance(declared[name], dict) else None
        wanted = _TYPES.get(kind, object) if isinstance(kind, str) else object
        if not isinstance(value, wanted) or (kind in ("integer", "number") and isinstance(value, bool)):
            document.report(place, f"parameter {name!r} takes values of type {kind}; write one, or change type")


def suggest_known(name: str, known: Sequence[str], shown: int | None = None) -> str:
    """Return the nearest known word, or all of them, or the first of many."""
    if close := difflib.get_close_matches(name, known, n=1):
        return f"did you mean {close[0]!r}?"
    if not known:
        return "there is none"
    more = ["and so on"] if shown is not None and len(known) > shown else []
    return f"known are {', '.join([*known[:shown], *more])}"


def _mapping(value: Any, key: str) -> Mapping[str, Any]:
    inner = value.get(key) if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else {}


def _entries_of(node: yaml.Node | None) -> dict[str, yaml.Node]:
    return {str(key.value): value for key, value in node.value} if isinstance(node, yaml.MappingNode) else {}


def _read_plain(node: yaml.Node, place: Where, document: Document, parameters: Parameters | None) -> Any:
    document.values[place] = node.start_mark
    if isinstance(node, yaml.MappingNode):
        mapping: dict[str, Any] = {}
        for key, value in node.value:
            name = str(key.value)
            inner = (*place, name)
            first = document.keys.setdefault(inner, key.start_mark)
            if first is not key.start_mark:
                line, column = key.start_mark.line + 1, key.start_mark.column + 1
                message = f"key {name!r} stands already in line {first.line + 1}; keep one"
                document.issues.append(Issue(document.path, line, column, message))
            fixed = not place and name in FIXED
            mapping[name] = _read_plain(value, inner, document, None if fixed else parameters)
        return mapping
    if isinstance(node, yaml.SequenceNode):
        return [_read_plain(one, (*place, i), document, parameters) for i, one in enumerate(node.value)]
    if parameters is None or not place:
        return _read_scalar(node)
    if whole := PLACEHOLDER.fullmatch(node.value):
        value = parameters.find(whole[1], place, document)
        return _read_scalar(node) if value is None else _read_plain(value, place, document, None)

    def replace(match: re.Match[str]) -> str:
        value = parameters.find(match[1], place, document)
        if value is not None and not isinstance(value, yaml.ScalarNode):
            message = f"parameter {match[1]!r} is no single value and cannot stand inside a text"
            document.report(place, f"{message}; use ${{{match[1]}}} alone")
        return str(value.value) if isinstance(value, yaml.ScalarNode) else match[0]

    return _read_scalar(yaml.ScalarNode(node.tag, PLACEHOLDER.sub(replace, node.value)))


def _read_scalar(node: yaml.Node) -> Any:
    """Return a scalar's value; what is no number, truth value or null is text."""
    if node.tag.rpartition(":")[2] not in ("int", "float", "bool", "null"):
        return str(node.value)
    try:
        value = yaml.constructor.SafeConstructor().construct_object(node)
    except (KeyError, ValueError):  # its tag stands in the file, and is wrong
        return str(node.value)
    return str(node.value) if isinstance(value, float) and not math.isfinite(value) else value
