"""How hot loops are compiled: once a machine, without the interpreter's lock."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from stowage_optimizer.search.cache import settle_cache

settle_cache(os.environ, Path(__file__).parent, Path(tempfile.gettempdir()))

from numba import njit, types  # noqa: E402 - it reads the environment when it is imported

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

# Counting references to arrays took half of the search's time, and their callers hold
# them anyway. So compiled functions must not make arrays or copy one into another.
_options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
_compile: Any = njit(**_options | {"cache": True})

# The way in from Python is most of what is compiled of a small function.
_compile_part: Any = njit(**_options | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True})

# Numba's annotations of its own types are wrong.
_types: Any = types


def compiled(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Return ``function`` compiled at its first call for each set of argument types.

    Division by zero gives 0 or infinity and no exception. Reads out of bounds are not
    seen, unless ``NUMBA_BOUNDSCHECK=1`` is set as in the tests.
    """
    return cast("Callable[Parameters, Result]", _compile(function))


def inlined(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Return ``function`` as a part of `compiled` ones; Python cannot call it.

    It is compiled once for all widths of integers and for all constants that it is
    called with, and kept as part of its callers only.
    """
    part = _compile_part(function)
    compile_for = part.compile

    def compile_widened(arguments: tuple[Any, ...]) -> object:
        return compile_for(tuple(_widened(argument) for argument in arguments))

    part.compile = compile_widened
    return cast("Callable[Parameters, Result]", part)


def _widened(argument: Any) -> Any:
    general = _types.unliteral(argument)
    return types.int64 if general in _types.signed_domain else general
