"""Objects of what is declared, from plain values that their schema let pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any, TypeVar, get_args, get_origin

from stowage_testbed.declaration.setting import Form, list_settings, type_in_file, unwrap

Made = TypeVar("Made")


def make_object(cls: type[Made], plain: Mapping[str, Any]) -> Made:
    """Return the object of a mapping; what that leaves out has its default.

    Raises
    ------
    TypeError
        It has a key that is no setting.
    ValueError
        The class refuses its values.
    """
    left = dict(plain)
    values: dict[str, Any] = {}
    rest = ""
    for one in list_settings(cls):
        if one.setting.rest:
            rest = one.name
        elif one.setting.beside:
            keys = [key.key for key in list_settings(type_in_file(one.hint)) if key.key in left]
            beside = {key: left.pop(key) for key in keys}
            values[one.name] = read_value(one.hint, beside)
        elif one.key in left:
            values[one.name] = read_value(one.hint, left.pop(one.key))
    return cls(**values, **({rest: left} if rest else left))


def read_value(hint: Any, plain: Any) -> Any:
    """Return the value of an annotated type; ``None`` is what was left out."""
    bare, about = unwrap(hint)
    parsers = [one.parse for one in about if isinstance(one, Form) and one.parse]
    if plain is None:
        return None
    return parsers[-1](plain) if parsers else _read(bare, plain)


def _read(bare: Any, plain: Any) -> Any:
    origin, inner = get_origin(bare), get_args(bare)
    if isinstance(bare, type) and is_dataclass(bare):
        return make_object(bare, plain)
    if origin is tuple:
        return tuple(read_value(inner[0], one) for one in plain)
    if origin is Mapping:
        return {read_value(inner[0], k): read_value(inner[1], plain[k]) for k in plain}
    return bare(plain) if bare in {int, float} else plain
