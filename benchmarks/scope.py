"""How much a benchmark measures: one way to declare it, the same names for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from stowage_testbed.base.errors import InputError


class ScopeName(StrEnum):
    """How much is measured."""

    SMOKE = "smoke"
    SHORT = "short"
    DEFAULT = "default"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Scope:
    """What a run covers; each benchmark adds what makes its own small or large."""

    name: str


ScopeT = TypeVar("ScopeT", bound=Scope)


def find_scope(scopes: Sequence[ScopeT], name: ScopeName) -> ScopeT:
    """Return the scope of that name."""
    for scope in scopes:
        if scope.name == name:
            return scope
    known = ", ".join(scope.name for scope in scopes)
    raise InputError(f"this benchmark has no scope {name}; choose one of {known}")
