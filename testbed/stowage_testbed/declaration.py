"""Settings that are declared once, as the fields of a dataclass.

A field's type, its default and its `Setting` say all there is to say. The JSON Schema
is derived from them, and so is the reading of values that the schema let pass.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

Schema = dict[str, Any]
Made = TypeVar("Made")

_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


@dataclass(frozen=True, slots=True)
class Setting:
    """What the type of a field does not say.

    Attributes
    ----------
    description
        For editors and the reference page.
    key
        The word in the file, where it is not the field's name.
    names
        What a text must be the name of, or each of some texts; empty for other values.
    parse
        Makes the value of what stands in the file, where its type is not that of JSON.
    required
        It must stand in the file, although the field has a default.
    keywords
        Of the JSON Schema, over those that type and default give; ``None`` drops one.
    """

    description: str
    key: str = ""
    names: str = ""
    parse: Callable[[Any], Any] | None = None
    required: bool = False
    keywords: Mapping[str, Any] = field(default_factory=dict)


def setting(
    description: str,
    *,
    key: str = "",
    names: str = "",
    parse: Callable[[Any], Any] | None = None,
    required: bool = False,
    **keywords: Any,
) -> Setting:
    """Return a setting; further keywords are those of the JSON Schema."""
    return Setting(description, key, names, parse, required, keywords)


@dataclass(frozen=True, slots=True)
class Declared:
    """A field of a dataclass that is a setting."""

    name: str
    type: Any
    default: object
    setting: Setting

    @property
    def key(self) -> str:
        """The word in the file."""
        return self.setting.key or self.name

    @property
    def required(self) -> bool:
        """Whether it must stand in the file."""
        return self.setting.required or self.default is MISSING

    def schema(self) -> Schema:
        """Return the JSON Schema of its value."""
        schema: Schema = {"description": self.setting.description}
        if self.setting.parse is None:
            schema |= _type_schema(self.type)
        if not self.required and not is_dataclass(self.default):
            schema["default"] = _shown(self.default)
        schema |= self.setting.keywords
        return {key: value for key, value in schema.items() if value is not None}

    def value(self, plain: Any) -> Any:
        """Return the value of what stands in the file and passed the schema."""
        if self.setting.parse is not None:
            return self.setting.parse(plain)
        if isinstance(self.type, type) and is_dataclass(self.type):
            return made(self.type, plain)
        if get_origin(self.type) is tuple:
            return (plain,) if isinstance(plain, str) else tuple(plain)
        return self.type(plain) if self.type in {int, float} else plain


def declared(cls: type) -> tuple[Declared, ...]:
    """Return the fields of a dataclass that are settings, in order."""
    hashable: Any = cls  # a class is, which the type of a cache does not know
    return _declared(hashable)


def object_schema(cls: type) -> Schema:
    """Return the JSON Schema of a mapping that has a dataclass' settings as keys."""
    settings = declared(cls)
    required = [one.key for one in settings if one.required]
    return {
        "type": "object",
        "additionalProperties": False,
        **({"required": required} if required else {}),
        "properties": {one.key: one.schema() for one in settings},
    }


def made(cls: type[Made], plain: Mapping[str, Any]) -> Made:
    """Return the object of a mapping; what that leaves out has its default.

    Raises
    ------
    TypeError
        It has a key that is no setting.
    ValueError
        The class refuses its values.
    """
    known = {one.key: one for one in declared(cls)}
    values = {}
    for key, value in plain.items():
        one = known.get(key)
        values[one.name if one else key] = one.value(value) if one else value
    return cls(**values)


def summary(cls: type) -> str:
    """Return the first paragraph of a class' docstring, in one line."""
    return " ".join((inspect.getdoc(cls) or "").split("\n\n")[0].split())


@functools.cache
def _declared(cls: Any) -> tuple[Declared, ...]:
    hints = get_type_hints(cls, include_extras=True)
    found = []
    for one in fields(cls):
        hint = hints[one.name]
        if get_origin(hint) is not Annotated:
            continue
        kind, about = get_args(hint)
        default = one.default
        if one.default_factory is not MISSING:
            default = one.default_factory()
        found.append(Declared(one.name, _without_none(kind), default, about))
    return tuple(found)


def _without_none(kind: Any) -> Any:
    if get_origin(kind) not in {Union, UnionType}:
        return kind
    (inner,) = (one for one in get_args(kind) if one is not NoneType)
    return inner


def _type_schema(kind: Any) -> Schema:
    if isinstance(kind, type) and is_dataclass(kind):
        return object_schema(kind)
    if get_origin(kind) is Literal:
        return {"enum": list(get_args(kind))}
    if get_origin(kind) is tuple:
        return {"$ref": "#/$defs/names"}
    if get_origin(kind) is Mapping:
        return {"type": "object"}
    return {"type": _TYPES[kind]}


def _shown(default: Any) -> Any:
    """Return a default as people write it; ``None`` for what is simply left out."""
    if default in ("", (), {}):
        return None
    whole = isinstance(default, float) and default.is_integer()
    return int(default) if whole else default
