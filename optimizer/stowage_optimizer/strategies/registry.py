"""The registry of strategies, by name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

from stowage_optimizer.errors import OptimizerError

if TYPE_CHECKING:
    # The process that serves asks for names only, and loads no arrays for them.
    from stowage_optimizer.strategies.strategy import Strategy

SHIPPED_STRATEGIES = {
    "lexicographic": "lexicographic.strategy:LexicographicStrategy",
    "paper": "paper:PaperStrategy",
    "cpsat-aggregated": "linear:cpsat_aggregated",
    "cpsat-items": "thesis:cpsat_items",
    "cpsat-items-symmetry": "thesis:cpsat_items_symmetry",
    "milp": "milp:milp",
    "boreas": "boreas:Boreas",
    "first-fit-decreasing": "first_fit_decreasing:FirstFitDecreasing",
}
"""Module and maker of each strategy by its name; a new one is one more line."""

Z3_STRATEGIES = {"z3": "z3:z3_items", "z3-symmetry": "z3:z3_symmetry"}
"""Those that need another package."""

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
    module, _, function = path.partition(":")
    brought = getattr(import_module(module), function)()
    return cast("Mapping[str, Strategy]", brought)


def available_strategies() -> Mapping[str, Strategy]:
    """Return the strategies of the optimiser and of every other installed package.

    Raises
    ------
    OptimizerError
        A package provides a name that is taken, or something that is no strategy.
    """
    strategies = dict(shipped_strategies())
    for entry_point in sorted(entry_points(group=GROUP)):
        if entry_point.name in strategies:
            raise OptimizerError(
                f"the strategy {entry_point.name!r} of {entry_point.value} has a name "
                "that is taken; rename or uninstall it"
            )
        strategies[entry_point.name] = _made(entry_point)
    return strategies


def shipped_strategies() -> Mapping[str, Strategy]:
    """Return the strategies that come with the optimiser.

    They are imported only now: the process that serves must not load a solver.
    """
    paths = SHIPPED_STRATEGIES
    if find_spec("z3") is not None:
        paths = {**paths, **Z3_STRATEGIES}
    made = {name: _call(path) for name, path in paths.items()}
    made["portfolio"] = _portfolio(made)
    return made


def _call(path: str) -> Strategy:
    module, _, function = path.partition(":")
    made = getattr(import_module(f"stowage_optimizer.strategies.{module}"), function)()
    return cast("Strategy", made)


def _portfolio(made: Mapping[str, Strategy]) -> Strategy:
    portfolio = import_module("stowage_optimizer.strategies.portfolio")
    return cast("Strategy", portfolio.portfolio_of(made))


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
