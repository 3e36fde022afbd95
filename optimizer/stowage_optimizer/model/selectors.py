"""Selectors over labels and node fields, as in the Kubernetes API."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

_INTEGER = re.compile(r"([+-]?)0*([0-9]{1,19})", re.ASCII)


def parse_integer(text: str) -> int | None:
    """Return the number that ``text`` writes out, None if it writes none of 64 bits.

    Python's own `int` would take ``1_0`` and other scripts' digits too, and raises an
    error of its own from 4,300 digits on.
    """
    found = _INTEGER.fullmatch(text)
    if found is None:
        return None
    number = int(found[1] + found[2])
    return number if -(2**63) <= number < 2**63 else None


class Operator(StrEnum):
    """How a requirement compares a label with its values."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One comparison of the label (or field) ``key``."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeSelectorTerm:
    """Requirements that must all hold; a term without any matches no node."""

    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """A selector over pod labels; an empty one matches every pod."""

    match_labels: Mapping[str, str] = field(default_factory=dict)
    match_expressions: tuple[Requirement, ...] = ()
