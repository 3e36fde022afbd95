"""How hot loops are compiled: once a machine, without the interpreter's lock."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from optimizer.search.cache import settle_cache

settle_cache(os.environ, Path(__file__).parent, Path(tempfile.gettempdir()))

from numba import njit  # noqa: E402 - it reads the environment when it is imported

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

# Counting references to arrays took half of the search's time, and their callers hold
# them anyway. So compiled functions must not make arrays nor copy one into another.
_options: dict[str, Any] = {
    "nogil": True,
    "cache": True,
    "error_model": "numpy",
    "_nrt": False,
}
_compile: Any = njit(**_options)


def compiled(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Return ``function`` compiled at its first call for each set of argument types.

    Division by zero gives 0 or infinity and no exception. Reads out of bounds are not
    seen, unless ``NUMBA_BOUNDSCHECK=1`` is set as in the tests.
    """
    return cast("Callable[Parameters, Result]", _compile(function))
