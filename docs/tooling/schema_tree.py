"""JSON Schemas as rows of a table: one for each field, with what it may be."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from docs.tooling.markdown import code

Schema = Mapping[str, Any]
_RANGES = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
    "minLength": "characters: at least",
    "maxLength": "characters: at most",
    "minItems": "items: at least",
    "maxItems": "items: at most",
}


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a schema.

    Attributes
    ----------
    path
        As in ``spec.owners[].labelSelector``; any key of a mapping is ``*``.
    """

    path: str
    schema: Schema
    required: bool

    @property
    def row(self) -> tuple[str, str, str, str]:
        """Path, type, default, meaning."""
        name = code(self.path) + (" (required)" if self.required else "")
        return name, type_of(self.schema), default_of(self.schema), words(self.schema)


def fields(schema: Schema, defs: Schema, before: str = "") -> Iterator[Field]:
    """Yield every field below a schema, in its order; references are followed.

    A reference to a definition with a page section of its own is named by `type_of` and
    not followed.
    """
    required = schema.get("required", ())
    for name, inner in schema.get("properties", {}).items():
        if inner.get("not") == {}:
            continue
        path = f"{before}{name}"
        yield Field(path, inner, name in required)
        yield from _below(inner, defs, path)


def _below(schema: Schema, defs: Schema, path: str) -> Iterator[Field]:
    if "$ref" in schema:
        return
    yield from fields(schema, defs, f"{path}.")
    for branch in schema.get("anyOf", ()):
        yield from _below(branch, defs, path)
    items, rest = schema.get("items"), schema.get("additionalProperties")
    if isinstance(items, Mapping):
        yield from _below(items, defs, f"{path}[]")
    if isinstance(rest, Mapping):
        yield from _below(rest, defs, f"{path}.*")


def type_of(schema: Schema) -> str:
    """Return what a value may be, in words."""
    match schema:
        case {"$ref": str(reference)}:
            name = reference.rpartition("/")[2]
            text = f"[{name}](#{name})"
        case {"enum": list(values)}:
            text = ", ".join(code(json.dumps(one).strip('"')) for one in values)
        case {"anyOf": list(branches)}:
            text = " or ".join(dict.fromkeys(map(type_of, branches)))
        case {"x-kubernetes-int-or-string": True}:
            text = "integer or string"
        case {"type": list(kinds)}:
            text = " or ".join(kinds)
        case {"type": "array", "items": dict(items)}:
            text = f"list of {type_of(items)}"
        case {"type": "object", "additionalProperties": dict(rest)}:
            text = f"mapping to {type_of(rest)}"
        case {"type": str(kind)}:
            text = {"object": "mapping", "array": "list"}.get(kind, kind)
        case _:
            text = "any"
    return text


def default_of(schema: Schema) -> str:
    """Return the default as code, or nothing."""
    if "default" not in schema:
        return ""
    value = schema["default"]
    return code(value if isinstance(value, str) else json.dumps(value))


def words(schema: Schema) -> str:
    """Return the description, and the limits that a value must keep."""
    limits = [f"{word} {schema[key]}" for key, word in _RANGES.items() if key in schema]
    text = str(schema.get("description", "")).strip()
    if limits:
        text = f"{text} ({'; '.join(limits)})".strip()
    return text
