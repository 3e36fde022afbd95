"""How the pricing is compiled: as the search is, but free to make arrays of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

# Imported before Numba: it settles where compiled code is kept.
import optimizer.search.compiling  # noqa: F401  isort: skip

from numba import njit

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_compile: Any = njit(nogil=True, cache=True, error_model="numpy")


def allocating(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Return ``function`` compiled at its first call for each set of argument types."""
    return cast("Callable[Parameters, Result]", _compile(function))
