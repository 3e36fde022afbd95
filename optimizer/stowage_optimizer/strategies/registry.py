"""The registry of strategies, by name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, cast

from stowage_optimizer.errors import OptimizerError

if TYPE_CHECKING:
    # The process that serves asks for names only, and loads no arrays for them.
    from stowage_optimizer.strategies.strategy import Strategy

SHIPPED_STRATEGIES = {
    "lexicographic": "lexicographic.strategy:LexicographicStrategy",
    "boreas": "boreas:Boreas",
    "first-fit-decreasing": "first_fit_decreasing:FirstFitDecreasing",
}
"""Module and maker of each strategy by its name; a new one is one more line."""

SHIPPED = "stowage_optimizer.strategies.registry:available_strategies"
"""Path of the function that returns every installed strategy."""

GROUP = "stowage.strategies"
"""Entry points of other packages: name of a strategy, and a function that makes it."""


def load_strategies(path: str) -> Mapping[str, Strategy]:
    """Return the strategies that the function at ``path`` returns.

    Parameters
    ----------
    path
        As in ``package.module:function``; it is called in child processes.
    """
    return cast("Mapping[str, Strategy]", _call(path))


def _call(path: str) -> object:
    module, _, function = path.partition(":")
    return getattr(import_module(module), function)()


def available_strategies() -> Mapping[str, Strategy]:
    """Return the strategies of the optimiser and of every other installed package.

    They are imported only now: the process that serves must not load a solver.

    Raises
    ------
    OptimizerError
        A package provides a name that is taken, or something that is no strategy.
    """
    strategies = {
        name: cast("Strategy", _call(f"stowage_optimizer.strategies.{path}"))
        for name, path in SHIPPED_STRATEGIES.items()
    }
    for entry_point in sorted(entry_points(group=GROUP)):
        if entry_point.name in strategies:
            raise OptimizerError(
                f"the strategy {entry_point.name!r} of {entry_point.value} has a name "
                "that is taken; rename or uninstall it"
            )
        strategies[entry_point.name] = _made(entry_point)
    return strategies


def _made(entry_point: EntryPoint) -> Strategy:
    try:
        made = entry_point.load()()
    except Exception as error:
        # Whatever another package raises at import is reported by its name.
        raise _unloadable(entry_point.name, repr(error)) from error
    if not callable(getattr(made, "solve", None)):
        raise _unloadable(entry_point.name, "it has no method 'solve'")
    return cast("Strategy", made)


def _unloadable(name: str, why: str) -> OptimizerError:
    return OptimizerError(
        f"the strategy {name!r} of another package cannot be made: {why}; repair or uninstall that package"
    )
