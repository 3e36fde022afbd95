"""The scenario language's JSON Schema: one source, and the forms that are made of it.

`schema.yaml` and `schema-steps.yaml` beside this file are the source. A scenario has
two halves or it has steps, and each of the two forms has words of its own: `x-only` in
the source says whose a word is, `x-steps` what is different with steps. Files are
validated against their form after their parameters are filled in. Editors see the file
before that, so theirs (committed as ``scenarios/schema.json``, printed by ``stowage
scenario schema``) takes both forms, and a placeholder such as ``${replicas}`` wherever
a value is expected.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from importlib import resources
from typing import Any, Literal

import yaml
from jsonschema import Draft202012Validator, FormatChecker

from stowage_testbed.quantity import QuantityError, parse_cpu, parse_memory
from stowage_testbed.scenario.words import (
    is_label,
    is_metric_name,
    is_parameter_name,
    is_priority,
    is_scenario_name,
)

Schema = dict[str, Any]
Form = Literal["halves", "steps"]

_PLACEHOLDER: Schema = {"type": "string", "pattern": r"^\$\{[^}]+\}$"}
_NOT_FILLED_IN = ("name", "description", "parameters", "variants", "version")
_SUBSCHEMAS = ("items", "additionalProperties")


@functools.cache
def strict_schema() -> Schema:
    """Return the source: every word of both forms, none of them a placeholder."""
    schema, steps = _read("schema.yaml"), _read("schema-steps.yaml")
    expect = schema["properties"]["expect"]["properties"]
    state = expect["deterministic"]["properties"]
    moment = {**state, **steps["moment"]}
    defs = steps["$defs"]
    defs["moment"]["properties"] = moment
    defs["check"]["properties"] = {**moment, **defs["check"]["properties"]}
    schema["properties"] |= steps["properties"]
    expect |= steps["expect"]
    schema["$defs"] |= defs
    return schema


def form_of(data: object) -> Form:
    """Return the form of a file's values."""
    return "steps" if isinstance(data, dict) and "steps" in data else "halves"


@functools.cache
def form_schema(form: Form) -> Schema:
    """Return the schema of a scenario of a form whose parameters are filled in."""
    return dict(_in_form(strict_schema(), form))


def editor_schema() -> Schema:
    """Return the schema for editors: both forms, and any value may be a placeholder."""
    schema = json.loads(json.dumps(_for_both(strict_schema())))
    for name, section in schema["properties"].items():
        if name not in _NOT_FILLED_IN:
            _open(section)
            schema["properties"][name] = _or_placeholder(section)
    for definition in schema["$defs"].values():
        _open(definition)
    return dict(schema)


def editor_schema_text() -> str:
    """Return the editors' schema as it is committed."""
    return json.dumps(editor_schema(), indent=2, ensure_ascii=False) + "\n"


@functools.cache
def validator(form: Form) -> Draft202012Validator:
    """Return the validator of a form, with this language's formats."""
    formats = FormatChecker(formats=())
    for name, test in _FORMATS.items():
        formats.checks(name, raises=QuantityError)(test)
    return Draft202012Validator(form_schema(form), format_checker=formats)


def _read(name: str) -> Schema:
    text = resources.files(__package__).joinpath(name).read_text("utf-8")
    schema: Schema = yaml.safe_load(text)
    return schema


def _in_form(value: Any, form: Form) -> Any:
    """Return a copy in which words of the other form have no place."""
    if isinstance(value, list):
        return [_in_form(item, form) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("x-only", form) != form:
        return {"not": {}, "x-only": value["x-only"]}
    inner = {key: _in_form(item, form) for key, item in value.items()}
    different = inner.pop("x-steps", {})
    inner.pop("x-only", None)
    return inner | (different if form == "steps" else {})


def _for_both(value: Any) -> Any:
    """Return a copy that takes the words of both forms."""
    if isinstance(value, list):
        return [_for_both(item) for item in value]
    if not isinstance(value, dict):
        return value
    inner = {key: _for_both(item) for key, item in value.items() if key != "x-only"}
    different = inner.pop("x-steps", {})
    if "required" in different:
        either = [inner.pop("required"), different.pop("required")]
        inner["anyOf"] = [{"required": names} for names in either]
    return inner | different


def _open(schema: Schema) -> None:
    """Let every value below a schema be a placeholder as well."""
    for branch in schema.get("anyOf", ()):
        _open(branch)
    for name, inner in schema.get("properties", {}).items():
        _open(inner)
        schema["properties"][name] = _or_placeholder(inner)
    for keyword in _SUBSCHEMAS:
        if isinstance(schema.get(keyword), dict):
            _open(schema[keyword])
            schema[keyword] = _or_placeholder(schema[keyword])


def _or_placeholder(schema: Schema) -> Schema:
    inner = dict(schema)
    notes: Schema = {k: inner.pop(k) for k in ("description", "default") if k in inner}
    if inner.get("type") == "string" and "format" not in inner:
        return schema
    return {**notes, "anyOf": [inner, _PLACEHOLDER]}


def _quantity(
    parse: Callable[[str | float], int], least: int
) -> Callable[[object], bool]:
    def test(value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return True  # the type is another keyword's business
        return parse(value) >= least

    return test


_FORMATS: dict[str, Callable[[object], bool]] = {
    "cpu": _quantity(parse_cpu, 0),
    "memory": _quantity(parse_memory, 0),
    "positive-cpu": _quantity(parse_cpu, 1),
    "positive-memory": _quantity(parse_memory, 1),
    "label": is_label,
    "metric-name": is_metric_name,
    "parameter-name": is_parameter_name,
    "priority": is_priority,
    "scenario-name": is_scenario_name,
}
