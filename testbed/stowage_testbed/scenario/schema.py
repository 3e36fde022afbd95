"""The scenario language's JSON Schema, and the form of it that editors use.

It is derived from `ScenarioFile`. Files are validated after their parameters are filled
in. Editors see the file before that, so that their schema (committed as
``scenarios/schema.json``, printed by ``stowage scenario schema``) also takes a
placeholder such as ``${replicas}`` wherever a value is expected.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from decimal import Decimal

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.validators import extend

from stowage_testbed.amounts.quantity import QuantityError, amount, parse_cpu, parse_memory
from stowage_testbed.declaration import Schema, collect_definitions, make_case_schema, make_object_schema
from stowage_testbed.scenario.expression import Expression, ExpressionError
from stowage_testbed.scenario.scenario_file import ScenarioFile
from stowage_testbed.scenario.words import HALVES, STEPS, WORDS

_PLACEHOLDER: Schema = {"type": "string", "pattern": r"^\$\{[^}]+\}$"}
_NOT_FILLED_IN = ("name", "description", "parameters", "variants", "version")
_SUBSCHEMAS = ("items", "additionalProperties")


@functools.cache
def make_strict_schema() -> Schema:
    """Return the schema of a scenario whose parameters are filled in."""
    return collect_definitions(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Stowage scenario",
            "description": " ".join(str(ScenarioFile.__doc__).split()),
            **make_object_schema(ScenarioFile),
            "if": {"required": ["steps"]},
            "then": make_case_schema(ScenarioFile, STEPS),
            "else": make_case_schema(ScenarioFile, HALVES),
        }
    )


def make_editor_schema() -> Schema:
    """Return the schema for editors: both forms, and any value may be a placeholder."""
    # A copy without the parts that several places share: each is changed on its own.
    schema: Schema = json.loads(json.dumps(make_strict_schema()))
    for name, section in schema["properties"].items():
        if name not in _NOT_FILLED_IN:
            _open(section)
            schema["properties"][name] = _allow_placeholder(section)
    for definition in schema["$defs"].values():
        _open(definition)
    return schema


def write_editor_schema() -> str:
    """Return the editors' schema as it is committed."""
    return json.dumps(make_editor_schema(), indent=2, ensure_ascii=False) + "\n"


@functools.cache
def make_validator() -> Draft202012Validator:
    """Return the validator, with this language's formats; 1.0 is no integer to it."""
    formats = FormatChecker(formats=())
    for name, test in _FORMATS.items():
        formats.checks(name, raises=(QuantityError, ExpressionError))(test)
    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    validator: type[Draft202012Validator] = extend(  # type: ignore[no-untyped-call] # as in its stubs
        Draft202012Validator, type_checker=types
    )
    return validator(make_strict_schema(), format_checker=formats)


def _open(schema: Schema) -> None:
    """Let every value below a schema be a placeholder as well."""
    for branch in schema.get("anyOf", ()):
        _open(branch)
    for name, inner in schema.get("properties", {}).items():
        _open(inner)
        schema["properties"][name] = _allow_placeholder(inner)
    for keyword in _SUBSCHEMAS:
        if isinstance(schema.get(keyword), dict):
            _open(schema[keyword])
            schema[keyword] = _allow_placeholder(schema[keyword])


def _allow_placeholder(schema: Schema) -> Schema:
    inner = dict(schema)
    notes: Schema = {k: inner.pop(k) for k in ("description", "default") if k in inner}
    if inner.get("type") == "string" and "format" not in inner:
        return schema
    return {**notes, "anyOf": [inner, _PLACEHOLDER]}


def _make_quantity_check(parse: Callable[[str | float], int | Decimal], least: int) -> Callable[[object], bool]:
    def test(value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return True  # the type is another keyword's business
        return parse(value) >= least

    return test


def _is_expression(value: object) -> bool:
    if isinstance(value, str):
        Expression(value)
    return True


_FORMATS: dict[str, Callable[[object], bool]] = {
    "cpu": _make_quantity_check(parse_cpu, 0),
    "memory": _make_quantity_check(parse_memory, 0),
    "quantity": _make_quantity_check(amount, 0),
    "positive-cpu": _make_quantity_check(parse_cpu, 1),
    "positive-memory": _make_quantity_check(parse_memory, 1),
    "expression": _is_expression,
    **WORDS,
}
