"""Matching labels against requirements, as the API machinery does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from stowage_optimizer.model.integers import parse_integer
from stowage_optimizer.model.selectors import LabelSelector, Operator, Requirement


def matches_all(labels: Mapping[str, str], requirements: Sequence[Requirement]) -> bool:
    """Return whether ``labels`` meet every one of ``requirements``."""
    return all(
        _HOLDS[requirement.operator](labels, requirement)
        for requirement in requirements
    )


def selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Return whether ``selector`` picks a pod with ``labels``; None picks nothing."""
    if selector is None:
        return False
    return all(
        labels.get(key) == value for key, value in selector.match_labels.items()
    ) and matches_all(labels, selector.match_expressions)


def _in(labels: Mapping[str, str], requirement: Requirement) -> bool:
    return labels.get(requirement.key) in requirement.values


def _not_in(labels: Mapping[str, str], requirement: Requirement) -> bool:
    # A label that is not there is in no set.
    return labels.get(requirement.key) not in requirement.values


def _exists(labels: Mapping[str, str], requirement: Requirement) -> bool:
    return requirement.key in labels


def _does_not_exist(labels: Mapping[str, str], requirement: Requirement) -> bool:
    return requirement.key not in labels


def _greater(labels: Mapping[str, str], requirement: Requirement) -> bool:
    number = _number(labels.get(requirement.key))
    return number is not None and number > int(requirement.values[0])


def _less(labels: Mapping[str, str], requirement: Requirement) -> bool:
    number = _number(labels.get(requirement.key))
    return number is not None and number < int(requirement.values[0])


def _number(text: str | None) -> int | None:
    return None if text is None else parse_integer(text)


_HOLDS: dict[Operator, Callable[[Mapping[str, str], Requirement], bool]] = {
    Operator.IN: _in,
    Operator.NOT_IN: _not_in,
    Operator.EXISTS: _exists,
    Operator.DOES_NOT_EXIST: _does_not_exist,
    Operator.GT: _greater,
    Operator.LT: _less,
}
