"""Files as objects of the classes that declare them, by pydantic: their issues, and their JSON Schema."""

import ast
import functools
import inspect
import json
import re
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import SchemaValidator

from stowage_testbed.scenario.steps.action import Where
from stowage_testbed.scenario.types import key_of
from stowage_testbed.scenario.yaml_file import FIXED, PLACEHOLDER, Document, suggest_known

Made = TypeVar("Made")
Schema = dict[str, Any]

NOUNS = {
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "array": "a list",
    "object": "a mapping",
    "boolean": "true or false",
}
_TYPES = {
    "int": "integer",
    "float": "number",
    "string": "string",
    "bool": "boolean",
    "list": "array",
    "tuple": "array",
    "dict": "object",
    "dataclass": "object",
    "model": "object",
}
_LIMITS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
_UNKNOWN = ("unexpected_keyword_argument", "extra_forbidden")


def read(cls: type[Made], document: Document, noun: str) -> Made | None:
    """Return the object that a document has, or report all its issues; the noun is what to call the whole of it."""
    try:
        # As JSON: a list is a tuple then, a mapping an object, and 1.0 no whole number.
        hashable: Any = cls  # a class is, which the type of a cache does not know
        made: Made = _adapter(hashable)[1].validate_json(json.dumps(document.data), strict=True)
    except ValidationError as error:
        _report(cls, error.errors(include_url=False), document, noun)
        return None
    return made


def make_schema(cls: type) -> Schema:
    """Return the JSON Schema of a file, each word with its description."""
    schema: Schema = json.loads(_write_schema(cls), object_hook=_tidy)
    return schema


def find_words(schema: Schema, path: Sequence[str | int]) -> Schema:
    """Return the schema of what stands at a path, without references; empty if nothing is known of it."""
    defs, found = schema.get("$defs", {}), schema
    for part in path:
        words = find_mapping(found, defs).get("properties", {})
        # Of a list or of a mapping by any name, the words are those of each entry.
        if part in words:
            found = resolve(words[part], defs)
    return found


def find_mapping(schema: Schema, defs: Mapping[str, Schema]) -> Schema:
    """Return the schema of the mapping in a schema, of its entries too; empty if there is none."""
    schema = resolve(schema, defs)
    if "properties" in schema:
        return schema
    for part in (schema.get("items"), schema.get("additionalProperties"), *schema.get("anyOf", ())):
        if isinstance(part, Mapping) and (found := find_mapping(dict(part), defs)):
            return found
    return {}


def resolve(schema: Schema, defs: Mapping[str, Schema]) -> Schema:
    """Return a schema with the definition that it refers to, if it does."""
    if "$ref" not in schema:
        return schema
    own = {key: value for key, value in schema.items() if key != "$ref"}
    return resolve(defs[schema["$ref"].rpartition("/")[2]], defs) | own


def describe(value: object) -> str:
    """Return a value in words, short."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return str(value)
        case str():
            return f"the text {value!r}" if value else "an empty text"
        case list() | tuple():
            return "a list"
    return "a mapping"


def spell(place: Where, noun: str) -> str:
    """Return a place as people write it: ``workload[0].replicas``."""
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in place)
    return text.lstrip(".") or noun


@functools.cache
def _adapter(cls: Any) -> tuple[Any, Any]:
    schema = _without_none(TypeAdapter(cls).core_schema)
    return schema, SchemaValidator(schema)


def _without_none(schema: Any) -> Any:
    """Return a core schema in which ``None`` is what was left out: no file can write it."""
    if isinstance(schema, dict):
        if schema.get("type") == "nullable":
            return _without_none(schema["schema"])
        return {key: _without_none(inner) for key, inner in schema.items()}
    return [_without_none(inner) for inner in schema] if isinstance(schema, list) else schema


@functools.cache
def _write_schema(cls: type) -> str:
    class Generator(GenerateJsonSchema):
        def dataclass_schema(self, schema: Any) -> Schema:
            return _describe_words(schema["cls"], super().dataclass_schema(schema))

        def typed_dict_schema(self, schema: Any) -> Schema:
            return _describe_words(schema["cls"], super().typed_dict_schema(schema))

        def field_title_should_be_set(self, schema: Any) -> bool:
            del schema
            return False

    made = Generator().generate(_adapter(cls)[0], mode="validation")
    return json.dumps(made)


def _tidy(schema: Schema) -> Schema:
    """Return a schema without its title, and without the default of what is simply left out."""
    if isinstance(schema.get("title"), str):
        del schema["title"]
    default = schema.get("default")
    if default is None or default in ("", [], {}):
        schema.pop("default", None)
    elif isinstance(default, float) and default.is_integer():
        schema["default"] = int(default)
    return schema


def _describe_words(cls: Any, schema: Schema) -> Schema:
    """Return a schema with the text of its class and of each field, without fields that are no settings."""
    texts: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        texts |= _read_module(base.__module__).get(base.__qualname__, {})
    texts |= getattr(cls, "descriptions", {})
    hidden = {key_of(name) for name, one in getattr(cls, "__dataclass_fields__", {}).items() if not one.repr}
    properties = {
        key: {**inner, **({"description": texts[key]} if key in texts else {})}
        for key, inner in schema.get("properties", {}).items()
        if key not in hidden
    }
    return {**schema, "description": read_docstring(cls), **({"properties": properties} if properties else {})}


def read_docstring(cls: type) -> str:
    """Return what a class says of itself, in one line."""
    return " ".join((inspect.getdoc(cls) or "").split()).replace("``", "`")


@functools.cache
def _read_module(name: str) -> Mapping[str, Mapping[str, str]]:
    """Return the texts below the fields of each class of a module, by class and by the word for the field."""
    if not name.startswith("stowage_testbed."):
        return {}
    found: dict[str, dict[str, str]] = {}
    for one in ast.parse(inspect.getsource(sys.modules[name])).body:
        if not isinstance(one, ast.ClassDef):
            continue
        for pair in pairwise(one.body):
            match pair:
                case (ast.AnnAssign(target=ast.Name(id=field)), ast.Expr(value=ast.Constant(value=str(text)))):
                    found.setdefault(one.name, {})[key_of(field)] = " ".join(text.split())
    return found


def _report(cls: type, errors: Sequence[Any], document: Document, noun: str) -> None:
    """Report what pydantic found, at its places in the file.

    Types that a value does not fit are named together, and only where it fits no branch of a union.
    """
    schema = make_schema(cls)
    found = [(*_place_of(one, document.data), one) for one in errors]
    nouns: dict[Where, dict[str, None]] = {}
    fitting: set[Where] = set()
    for place, branches, one in found:
        if wanted := _wanted(one["type"]):
            nouns.setdefault(place, {})[NOUNS[wanted]] = None
        fitting |= {place[:at] for at in branches if at < len(place) or not wanted}
    above = {place[:at] for place, _, _ in found for at in range(len(place))}
    for place, _, one in found:
        # A placeholder that could not be filled in is reported already, and what could not be read is not counted.
        value = one["input"]
        left_over = isinstance(value, str) and PLACEHOLDER.search(value) and (not place or place[0] not in FIXED)
        if left_over or (one["type"] == "too_short" and place in above):
            continue
        if not _wanted(one["type"]):
            _report_one(schema, document, place, one, noun)
        elif place not in fitting and (words := " or ".join(nouns.pop(place, ()))):
            quotable = words == NOUNS["string"] and isinstance(value, bool | int | float)
            hint = "; put it in quotes" if quotable else ""
            document.report(place, f"{spell(place, noun)} must be {words}, not {describe(value)}{hint}")


def _report_one(schema: Schema, document: Document, place: Where, one: Any, noun: str) -> None:
    name, kind, ctx, key = spell(place, noun), one["type"], one.get("ctx", {}), one["loc"][-1]
    of_key = kind in _UNKNOWN or key == "[key]"
    if kind in _UNKNOWN:
        known = list(find_mapping(find_words(schema, place[:-1]), schema.get("$defs", {})).get("properties", {}))
        message = f"unknown key {key!r} in {spell(place[:-1], noun)}; {suggest_known(str(key), known)}"
    elif kind == "missing" and isinstance(key, int):
        message = f"{name} must have {find_words(schema, place).get('minItems')} entries, not {key}"
    elif kind == "missing":
        about = find_words(schema, (*place, key)).get("description", "")
        message = f"{name} lacks the key {key!r}; add it. {about}".rstrip()
    elif kind == "literal_error":
        known = re.findall(r"'([^']*)'", ctx["expected"]) or [ctx["expected"]]
        message = f"{name} cannot be {describe(one['input'])}; {suggest_known(str(one['input']), known)}"
    elif kind in ("too_short", "string_too_short"):
        message = f"{name} is empty; fill it or remove it"
    elif kind == "too_long":
        message = f"{name} must have at most {ctx['max_length']} entries, not {ctx['actual_length']}"
    elif limit := next((limit for limit in _LIMITS if limit in ctx), ""):
        message = f"{name} must be {_LIMITS[limit]} {ctx[limit]:g}, not {one['input']}"
    else:
        said = str(one["msg"]).removeprefix("Value error, ")
        name = f"key {place[-1]!r} in {spell(place[:-1], noun)}" if of_key else name
        message = f"{name} {said}" if said.startswith(("must ", "is ", "names ", "has ")) else f"{name}: {said}"
        # Of several keys that do not go together the message names the one that is to change.
        meant = [word for word in re.findall(r"`([a-z_]+)`", said) if (*place, word) in document.keys]
        if meant:
            place, of_key = (*place, meant[0]), True
    document.report(place, message, of_key=of_key)


def _place_of(one: Any, data: Any) -> tuple[Where, set[int]]:
    """Return the place in the file, and after how many of its keys there are several types."""
    place: Where = ()
    branches: set[int] = set()
    for part in one["loc"][:-1] if one["type"] == "missing" else one["loc"]:
        if (isinstance(data, dict) and part in data) or (isinstance(data, list) and isinstance(part, int)):
            place, data = (*place, part), data[part]
        elif part != "[key]":
            branches.add(len(place))
    return place, branches


def _wanted(kind: str) -> str:
    """Return the type that a value should have, if that is what is wrong."""
    first, _, rest = kind.partition("_")
    return _TYPES.get(first, "") if rest in ("type", "from_float", "parsing", "exact_type", "parsing_size") else ""
