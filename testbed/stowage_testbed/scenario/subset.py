"""Whether an object has at least what is written down of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

NAMES = ("name", "type", "key", "uid", "containerPort", "port", "mountPath", "ip")
"""Fields by which the API tells elements of lists apart, as patches merge them."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A field that is not as it is written; ``found`` is None where it is missing."""

    path: str
    wanted: object
    found: object


def find_differences(wanted: Any, found: Any, path: str = "") -> Iterator[Difference]:
    """Yield the fields of ``found`` that are not as ``wanted`` has them.

    What is not named is not looked at. Elements of a list are matched by the field that
    tells them apart, if all that are wanted have one; else a list must be as long and
    its elements alike in turn.
    """
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        for key, value in wanted.items():
            inner = f"{path}.{key}" if path else str(key)
            yield from find_differences(value, found.get(key), inner)
    elif isinstance(wanted, list) and isinstance(found, list):
        yield from _compare_lists(wanted, found, path)
    elif wanted != found:
        yield Difference(path, wanted, found)


def _compare_lists(wanted: Sequence[Any], found: Sequence[Any], path: str) -> Iterator[Difference]:
    name = _find_name_field(wanted)
    if name is not None:
        there = {one.get(name): one for one in found if isinstance(one, Mapping)}
        for one in wanted:
            inner = f"{path}[{one[name]}]"
            yield from find_differences(one, there.get(one[name]), inner)
    elif len(wanted) != len(found):
        yield Difference(path, list(wanted), list(found))
    else:
        for at, (one, other) in enumerate(zip(wanted, found, strict=True)):
            yield from find_differences(one, other, f"{path}[{at}]")


def _find_name_field(elements: Sequence[Any]) -> str | None:
    """Return the field that tells all elements apart; None if there is none."""
    if not elements or not all(isinstance(one, Mapping) for one in elements):
        return None
    for name in NAMES:
        if len({str(one.get(name)) for one in elements if name in one}) == len(elements):
            return name
    return None
