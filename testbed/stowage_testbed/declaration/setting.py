"""What a declaration says: how values of a type are written, and what a field means."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints


# Compared by identity: types with forms have a hash then, which unions of them need.
@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """How values of a type are written, where the type does not say it.

    Attributes
    ----------
    name
        Of the definition that the schema has of it; without it, it has none.
    written
        The type of what stands in the file, where that is another.
    parse
        Makes the value of what stands in the file.
    without
        Keys of a mapping that have no place here.
    keywords
        Of the JSON Schema, over those that the type gives; ``None`` drops one.
    """

    name: str = ""
    written: Any = None
    parse: Callable[[Any], Any] | None = None
    without: tuple[str, ...] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
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
    required
        It must stand in the file, although the field has a default.
    beside
        The field is an object whose settings stand beside the other fields' own.
    rest
        The field is a mapping of all keys that are no settings.
    only
        The single case in which it has a meaning, as in ``with steps``.
    cases
        What holds besides in some case: its keywords, and whether it is required.
    keywords
        Of the JSON Schema, over those that type and default give; ``None`` drops one.
    """

    description: str
    key: str = ""
    names: str = ""
    required: bool = False
    beside: bool = False
    rest: bool = False
    only: str = ""
    cases: Mapping[str, Setting] = field(default_factory=dict)
    keywords: Mapping[str, Any] = field(default_factory=dict)

    @property
    def told(self) -> str:
        """The description, with the case in which it has a meaning."""
        return f"Only {self.only}. {self.description}" if self.only else self.description


def form(
    *,
    name: str = "",
    written: Any = None,
    parse: Callable[[Any], Any] | None = None,
    without: tuple[str, ...] = (),
    **keywords: Any,
) -> Form:
    """Return a form; further keywords are those of the JSON Schema."""
    return Form(name, written, parse, without, keywords)


def setting(
    description: str,
    *,
    key: str = "",
    names: str = "",
    required: bool = False,
    beside: bool = False,
    rest: bool = False,
    only: str = "",
    cases: Mapping[str, Setting] | None = None,
    **keywords: Any,
) -> Setting:
    """Return a setting; further keywords are those of the JSON Schema."""
    return Setting(description, key, names, required, beside, rest, only, cases or {}, keywords)


@dataclass(frozen=True, slots=True)
class Declared:
    """A field of a dataclass that is a setting; its hint is the annotated type."""

    name: str
    hint: Any
    default: object
    setting: Setting

    @property
    def key(self) -> str:
        """The word in the file."""
        return self.setting.key or self.name

    @property
    def required(self) -> bool:
        """Whether it must stand in the file, in the case in which it has a meaning."""
        return self.setting.required or self.default is MISSING


def list_settings(cls: type) -> tuple[Declared, ...]:
    """Return the fields of a dataclass that are settings, in order."""
    hashable: Any = cls  # a class is, which the type of a cache does not know
    return _list_settings(hashable)


def unwrap(hint: Any) -> tuple[Any, tuple[Form | Setting, ...]]:
    """Return a type without ``None`` and without what is said of it, and that."""
    if get_origin(hint) is Annotated:
        inner, *outer = get_args(hint)
        bare, about = unwrap(inner)
        return bare, (*about, *outer)
    if get_origin(hint) in {Union, UnionType} and NoneType in get_args(hint):
        rest = tuple(one for one in get_args(hint) if one is not NoneType)
        return unwrap(Union[rest])  # noqa: UP007 - as many as there are
    return hint, ()


def type_in_file(hint: Any) -> Any:
    """Return the type of what stands in a file for an annotated type."""
    bare, about = unwrap(hint)
    forms = [one.written for one in about if isinstance(one, Form)]
    return next((one for one in reversed(forms) if one is not None), bare)


def summarise(cls: type) -> str:
    """Return the first paragraph of a class' docstring, in one line."""
    return " ".join((inspect.getdoc(cls) or "").split("\n\n")[0].split())


@functools.cache
def _list_settings(cls: Any) -> tuple[Declared, ...]:
    hints = get_type_hints(cls, include_extras=True)
    found = []
    for one in fields(cls):
        _, about = unwrap(hints[one.name])
        said = [item for item in about if isinstance(item, Setting)]
        if not said:
            continue
        default = one.default
        if one.default_factory is not MISSING:
            default = one.default_factory()
        found.append(Declared(one.name, hints[one.name], default, said[-1]))
    return tuple(found)
