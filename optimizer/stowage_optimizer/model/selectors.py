"""Selectors over labels and node fields, as in the Kubernetes API."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from stowage_optimizer.model.codec import REQUIRED

NODE_NAME_FIELD = "metadata.name"
"""The one node field that Kubernetes lets affinity select by."""

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


_SET = (Operator.IN, Operator.NOT_IN)
_NUMERIC = (Operator.GT, Operator.LT)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One comparison of the label (or field) ``key``."""

    key: Annotated[str, REQUIRED] = ""
    operator: Annotated[Operator, REQUIRED] = Operator.EXISTS
    values: tuple[str, ...] = ()

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield what its values lack."""
        if self.operator in _SET and not self.values:
            yield ".values", f"is empty, but {self.operator} needs values"
        if self.operator in _NUMERIC and not (len(self.values) == 1 and parse_integer(self.values[0]) is not None):
            yield ".values", f"{self.operator} needs exactly one integer"


@dataclass(frozen=True, slots=True)
class NodeSelectorTerm:
    """Requirements that must all hold; a term without any matches no node."""

    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield the fields that nodes cannot be selected by."""
        for index, one in enumerate(self.match_fields):
            if one.key != NODE_NAME_FIELD or one.operator not in _SET:
                yield f".match_fields[{index}]", f"only {NODE_NAME_FIELD} with In or NotIn can be matched"


@dataclass(frozen=True, slots=True)
class NodeSelector:
    """Alternatives, of which one must hold; without any, no node is selected."""

    terms: tuple[NodeSelectorTerm, ...] = ()


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """A selector over pod labels; an empty one matches every pod."""

    match_labels: Mapping[str, str] = field(default_factory=dict)
    match_expressions: tuple[Requirement, ...] = ()

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield the comparisons that labels of pods cannot have."""
        for index, one in enumerate(self.match_expressions):
            if one.operator in _NUMERIC:
                yield f".match_expressions[{index}].operator", f"{one.operator} is for nodes only"
