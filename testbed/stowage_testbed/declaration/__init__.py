"""Settings that are declared once, as the fields of a dataclass.

A field's type, its default and its `Setting` say all there is to say. The JSON Schema
is derived from them (`schema`), and so is the reading of values that the schema let
pass (`reading`).
"""

from stowage_testbed.declaration.reading import made
from stowage_testbed.declaration.schema import (
    Schema,
    case_schema,
    object_schema,
    resolved,
    schema_of,
    with_definitions,
)
from stowage_testbed.declaration.setting import declared, form, setting, summary

__all__ = [
    "Schema",
    "case_schema",
    "declared",
    "form",
    "made",
    "object_schema",
    "resolved",
    "schema_of",
    "setting",
    "summary",
    "with_definitions",
]
