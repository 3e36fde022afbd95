"""The JSON Schema of what is declared.

A type whose form has a name becomes a definition, which others refer to. Up to
`collect_definitions` such a reference holds the definition itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from stowage_testbed.declaration.setting import Declared, Form, Setting, list_settings, type_in_file, unwrap

Schema = dict[str, Any]

_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}
_ENDS = ("min", "max")


@dataclass(frozen=True, slots=True)
class Definition:
    """A schema that has a name."""

    name: str
    schema: Schema


def make_schema(hint: Any) -> Schema:
    """Return the JSON Schema of the values of an annotated type."""
    _, about = unwrap(hint)
    schema = _describe_type(type_in_file(hint))
    for one in about:
        if isinstance(one, Setting):
            schema = {"description": one.told} | schema | {"description": one.told}
        elif one.without:
            kept = schema["properties"].items()
            left = {key: value for key, value in kept if key not in one.without}
            schema |= {"properties": left}
        schema |= one.keywords
        schema = {key: value for key, value in schema.items() if value is not None}
        if isinstance(one, Form) and one.name:
            schema = {"$ref": Definition(one.name, schema)}
    return schema


def make_object_schema(cls: type) -> Schema:
    """Return the JSON Schema of a mapping that has a dataclass' settings as keys."""
    properties: Schema = {}
    required: list[str] = []
    further: Any = False
    for one in list_settings(cls):
        if one.setting.beside:
            inner = resolve(make_schema(one.hint))
            properties |= inner["properties"]
            required += inner.get("required", ())
        elif one.setting.rest:
            further = make_schema(get_args(unwrap(one.hint)[0])[1])
        else:
            properties[one.key] = _describe_setting(one)
            required += [one.key] if one.required and not one.setting.only else []
    return {
        "type": "object",
        **({} if further == {} else {"additionalProperties": further}),
        **({"required": required} if required else {}),
        "properties": properties,
    }


def make_case_schema(cls: type, case: str) -> Schema:
    """Return what one case adds to the JSON Schema of a dataclass."""
    properties: Schema = {}
    required: list[str] = []
    for one in list_settings(cls):
        said = one.setting
        if said.only and said.only != case:
            properties[one.key] = {"not": {}}
            continue
        added = _describe_case(one.hint, case)
        besides = said.cases.get(case)
        if said.only and one.required:
            besides = Setting(said.description, required=True)
        if besides:
            told = {"description": besides.description} if besides.description else {}
            added = told | dict(besides.keywords) | added
            required += [one.key] if besides.required else []
        if added:
            properties[one.key] = added
    return {**({"required": required} if required else {}), **({"properties": properties} if properties else {})}


def resolve(schema: Schema) -> Schema:
    """Return a schema with the definition that it refers to, if it does."""
    reference = schema.get("$ref")
    if not isinstance(reference, Definition):
        return schema
    own = {key: value for key, value in schema.items() if key != "$ref"}
    return resolve(reference.schema) | own


def collect_definitions(schema: Schema) -> Schema:
    """Return a schema with all its definitions, and references to them by name.

    Raises
    ------
    ValueError
        Two definitions have one name.
    """
    found: dict[str, Definition] = {}
    defs: Schema = {}

    def named(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: named(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [named(inner) for inner in value]
        if not isinstance(value, Definition):
            return value
        if found.setdefault(value.name, value) != value:
            raise ValueError(f"there are two definitions of {value.name!r}")
        if value.name not in defs:
            defs[value.name] = {}
            defs[value.name] = named(value.schema)
        return f"#/$defs/{value.name}"

    return {**named(schema), "$defs": defs}


def _describe_setting(one: Declared) -> Schema:
    schema = make_schema(one.hint)
    if one.required or is_dataclass(one.default) or "default" in one.setting.keywords:
        return schema
    default = _show(one.default)
    return schema if default is None else schema | {"default": default}


def _describe_case(hint: Any, case: str) -> Schema:
    bare, _ = unwrap(hint)
    if get_origin(bare) is tuple:
        items = _describe_case(get_args(bare)[0], case)
        return {"items": items} if items else {}
    return make_case_schema(bare, case) if _is_object(bare) else {}


def _describe_type(bare: Any) -> Schema:
    origin = get_origin(bare)
    if origin in _GENERIC:
        return _GENERIC[origin](*get_args(bare))
    if _is_object(bare):
        return make_object_schema(bare)
    return {} if bare in {Any, object} else {"type": _TYPES[bare]}


def _describe_list(item: Any, *more: Any) -> Schema:
    size = {} if more == (...,) else {f"{end}Items": 1 + len(more) for end in _ENDS}
    return {"type": "array", "items": make_schema(item), **size}


def _describe_union(*members: Any) -> Schema:
    branches = [make_schema(one) for one in members]
    if all(set(branch) == {"type"} for branch in branches):
        return {"type": [branch["type"] for branch in branches]}
    # The issue of a value that fits none of them names their types.
    texts = [{"type": "string"} if "enum" in branch else {} for branch in branches]
    return {"anyOf": [text | one for text, one in zip(texts, branches, strict=True)]}


def _describe_mapping(key: Any, value: Any) -> Schema:
    names = {k: v for k, v in make_schema(key).items() if k != "type"}
    values = make_schema(value)
    if "enum" in names:
        chosen = dict.fromkeys(names["enum"], values)
        return {"type": "object", "additionalProperties": False, "properties": chosen}
    return {
        "type": "object",
        **({"propertyNames": names} if names else {}),
        **({"additionalProperties": values} if values else {}),
    }


_GENERIC: Mapping[Any, Callable[..., Schema]] = {
    Literal: lambda *values: {"enum": list(values)},
    tuple: _describe_list,
    Mapping: _describe_mapping,
    Union: _describe_union,
    UnionType: _describe_union,
}


def _is_object(bare: Any) -> bool:
    return isinstance(bare, type) and is_dataclass(bare)


def _show(default: Any) -> Any:
    """Return a default as people write it; ``None`` for what is simply left out."""
    if default in ("", (), {}):
        return None
    if isinstance(default, tuple):
        return [_show(one) for one in default]
    whole = isinstance(default, float) and default.is_integer()
    return int(default) if whole else default
