"""Label selectors, as kubectl takes them (``pool=spot,zone in (a, b)``, ``!gpu``) and as objects have them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stowage_testbed.base.errors import InputError

_KEY = r"[A-Za-z0-9][A-Za-z0-9._/-]*"
_VALUE = r"[A-Za-z0-9._-]*"
_OF_A_SET = re.compile(rf"(?P<key>{_KEY})\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)")
_EQUAL = re.compile(rf"(?P<key>{_KEY})\s*(?P<operator>==?|!=)\s*(?P<values>{_VALUE})")
_THERE = re.compile(rf"(?P<operator>!?)\s*(?P<key>{_KEY})")
_COMMA = re.compile(r",(?![^()]*\))")  # One that stands in no brackets
_OPERATORS = {"in": "In", "notin": "NotIn", "=": "In", "==": "In", "!=": "NotIn", "": "Exists", "!": "DoesNotExist"}


def parse_selector(text: str) -> dict[str, Any]:
    """Return a LabelSelector of requirements; an InputError says what of the text is none."""
    return {"matchExpressions": [_parse_requirement(part.strip()) for part in _COMMA.split(text)]}


def _parse_requirement(part: str) -> dict[str, Any]:
    for form in (_OF_A_SET, _EQUAL, _THERE):
        if found := form.fullmatch(part):
            said = found.groupdict()
            values = [one.strip() for one in said.get("values", "").split(",")]
            if all(re.fullmatch(_VALUE, one) for one in values):
                requirement = {"key": said["key"], "operator": _OPERATORS[said["operator"]]}
                return {**requirement, "values": values} if "values" in said else requirement
    raise InputError(
        f"{part!r} selects no labels; write key=value, key!=value, key in (a, b), "
        "key notin (a, b), key or !key, with commas between"
    )


@dataclass(frozen=True, slots=True)
class Requirement:
    """What one label must be."""

    key: str
    operator: str
    values: tuple[str, ...]

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Return whether labels meet it."""
        match self.operator:
            case "In":
                return labels.get(self.key) in self.values
            case "NotIn":
                return labels.get(self.key) not in self.values
            case "Exists":
                return self.key in labels
            case _:
                return self.key not in labels


def requirements_of(selector: Mapping[str, Any]) -> tuple[Requirement, ...]:
    """Return what a LabelSelector demands; an empty one demands nothing."""
    return tuple(
        Requirement(one["key"], one["operator"], tuple(one.get("values") or ())) for one in _expressions(selector)
    )


def selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Return whether a LabelSelector holds for labels."""
    return all(one.holds(labels) for one in requirements_of(selector))


def both(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return a LabelSelector that selects what both do."""
    return {"matchExpressions": _expressions(one) + _expressions(other)}


def _expressions(selector: Mapping[str, Any]) -> list[dict[str, Any]]:
    labels = (selector.get("matchLabels") or {}).items()
    equal = [{"key": key, "operator": "In", "values": [value]} for key, value in labels]
    return equal + list(selector.get("matchExpressions") or ())
