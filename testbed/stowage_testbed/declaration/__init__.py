"""Settings that are declared once, as the fields of a dataclass.

A field's type, its default and its `Setting` say all there is to say. The JSON Schema
is derived from them (`schema`), and so is the reading of values that the schema let
pass (`reading`).
"""

from stowage_testbed.declaration.reading import make_object
from stowage_testbed.declaration.schema import (
    Schema,
    collect_definitions,
    make_case_schema,
    make_object_schema,
    make_schema,
    resolve,
)
from stowage_testbed.declaration.setting import form, list_settings, setting, summarise

__all__ = [
    "Schema",
    "collect_definitions",
    "form",
    "list_settings",
    "make_case_schema",
    "make_object",
    "make_object_schema",
    "make_schema",
    "resolve",
    "setting",
    "summarise",
]
