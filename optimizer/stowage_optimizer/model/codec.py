"""Messages of the contract as dataclasses with fields of the same names, and back.

A field is a line of the contract and a line of its dataclass. The annotation says what it may hold; what several fields
must hold together is said by a method ``faults``. Only fields that are set are read: most messages have few.
"""

import dataclasses
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import cache
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from google.protobuf.message import Message

from stowage_optimizer.model.issues import Faults

T = TypeVar("T")
M = TypeVar("M", bound=Message)

Found = list[tuple[str, str]]
"""`Faults` that are collected."""
_Read = Callable[[Any, Found], Any]


@dataclass(frozen=True, slots=True)
class Check:
    """What a value must be, and what is said of one that is not."""

    holds: Callable[[Any], bool]
    says: Callable[[Any], str]


REQUIRED = Check(bool, lambda _: "is empty")


def in_range(least: float, most: float, words: str = "") -> Check:
    """Return that a number must be from ``least`` to ``most``; NaN is not."""
    words = words or f"in {least}..{most}"
    return Check(lambda value: least <= value <= most, lambda value: f"is {value}, not {words}")


def one_of(*words: str) -> Check:
    """Return that a text must be one of ``words``."""
    return Check(words.__contains__, lambda value: f"is {value!r}, not one of {', '.join(map(repr, words))}")


def read(kind: type[T], message: Message, found: Found) -> T:
    """Return ``message`` as one of ``kind``; what is wrong with it is added to ``found``."""
    readers, unset, faults = _reading_of(kind)  # type: ignore[arg-type] # mypy takes no class for hashable
    values = {}
    for field, value in message.ListFields():
        name = field.name
        reader: Any = readers.get(name, _ignore)
        if reader is None:
            values[name] = value
        elif reader is not _ignore:
            before = len(found)
            values[name] = reader(value, found)
            if len(found) > before:
                _prefix(f".{name}", found, before)
    for name, what in unset:
        if name not in values:
            found += what
    made = kind(**values)
    if faults is not None and (more := faults(made)):
        found += more
    return made


def _ignore(_value: Any, _found: Found) -> None:
    """Stand for a field that the dataclass does not have."""


def write(of: type[M], value: Any) -> M:
    """Return a dataclass as the message ``of``, which has all its fields."""
    return of(**_plain(value))


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        pairs = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
        return {name: _plain(one) for name, one in pairs if one is not None}
    if isinstance(value, tuple) and value and dataclasses.is_dataclass(value[0]):
        return [_plain(one) for one in value]
    return value.value if isinstance(value, Enum) else value


def _prefix(part: str, found: Found, start: int) -> None:
    found[start:] = [(f"{part}{path}", what) for path, what in found[start:]]


@cache
def _reading_of(kind: type) -> tuple[dict[str, _Read | None], list[tuple[str, Found]], Callable[[Any], Faults] | None]:
    """Return how each field is read, what is said of those that must be set, and ``faults``."""
    hints = get_type_hints(kind, include_extras=True)
    readers: dict[str, _Read | None] = {}
    unset: list[tuple[str, Found]] = []
    for field in dataclasses.fields(kind):
        declared = hints[field.name]
        hint, *checks = get_args(declared) if get_origin(declared) is Annotated else [declared]
        readers[field.name] = _checked(_reader(hint, field.default), checks)
        nothing = 0 if hint in (int, float) else None if int in get_args(hint) else ""
        lacks = [(f".{field.name}", check.says(nothing)) for check in checks if not check.holds(nothing)]
        if dataclasses.is_dataclass(hint):
            inner = _reading_of(hint)[1]  # type: ignore[arg-type] # as above
            lacks += [(f".{field.name}{path}", what) for _, others in inner for path, what in others]
        unset += [(field.name, lacks)] if lacks else []
    return readers, unset, getattr(kind, "faults", None)


def _checked(reader: _Read | None, checks: Iterable[Check]) -> _Read | None:
    if not checks:
        return reader

    def checked(value: Any, found: Found) -> Any:
        found += [("", check.says(value)) for check in checks if not check.holds(value)]
        return value if reader is None else reader(value, found)

    return checked


def _reader(hint: Any, default: Any = None) -> _Read | None:
    """Return what reads a value; None if it stays as it is."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _reader(inner[0], default)
    if origin is tuple:
        return _each(_reader(inner[0]))
    if origin is Mapping:
        return lambda value, _found: dict(value)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _member(hint, default)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return lambda value, found: read(hint, value, found)
    return None


def _each(reader: _Read | None) -> _Read:
    if reader is None:
        return lambda values, _found: tuple(values)

    def each(values: Any, found: Found) -> tuple[Any, ...]:
        made = []
        for index, value in enumerate(values):
            before = len(found)
            made.append(reader(value, found))
            _prefix(f"[{index}]", found, before)
        return tuple(made)

    return each


def _member(kind: type[Enum], default: Any) -> _Read:
    """Return what reads a member by its word, or by the contract's number."""
    words = [one.value if issubclass(kind, StrEnum) else f"{kind.__name__.upper()}_{one.name}" for one in kind]

    def member(value: Any, found: Found) -> Any:
        try:
            return kind(value)
        except ValueError:
            found.append(("", f"is {value!r}, not one of {', '.join(words)}"))
            return default

    return member
