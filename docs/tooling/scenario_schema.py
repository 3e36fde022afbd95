"""The page of the scenario language, from its JSON Schema."""

from __future__ import annotations

from typing import Any

from docs.tooling.markdown import page, table
from docs.tooling.schema_tree import fields, type_of, words
from stowage_testbed.scenario.schema import make_strict_schema

NOTE = """\
This page is generated from the schema that the loader uses, as the model declares it.
`stowage scenario schema` prints the schema for editors, which also takes a placeholder
such as `${replicas}` wherever a value is expected. `stowage scenario explain` prints a
scenario with every default, or what a word of this page means.
"""
_HEADERS = ("field", "type", "default", "meaning")


def scenario_schema_page() -> str:
    """Return the page."""
    schema = make_strict_schema()
    defs = schema["$defs"]
    parts = [
        "## The file\n",
        _table(schema, defs),
        "## Definitions\n",
        *(_definition(name, one, defs) for name, one in sorted(defs.items())),
    ]
    return page("Scenario schema", NOTE, *parts)


def _definition(name: str, schema: dict[str, Any], defs: dict[str, Any]) -> str:
    kinds = f"Type: {type_of(schema)}. {words(schema)}".rstrip()
    rows = _table(schema, defs)
    branches = [_table(one, defs) for one in schema.get("anyOf", ()) if "properties" in one]
    body = "\n".join(part for part in (rows, *branches) if part)
    return f"### {name}\n\n{kinds}\n\n{body}"


def _table(schema: dict[str, Any], defs: dict[str, Any]) -> str:
    return table(_HEADERS, [field.row for field in fields(schema, defs)])
