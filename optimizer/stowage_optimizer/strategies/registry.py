"""The registry of strategies, by name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import cast

from stowage_optimizer.strategies.errors import (
    StrategyNameTakenError,
    StrategyUnloadableError,
)
from stowage_optimizer.strategies.strategy import Strategy

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
    StrategyNameTakenError, StrategyUnloadableError
        A package provides a name that is taken, or something that is no strategy.
    """
    strategies = dict(shipped_strategies())
    for entry_point in sorted(entry_points(group=GROUP)):
        if entry_point.name in strategies:
            raise StrategyNameTakenError(entry_point.name, entry_point.value)
        strategies[entry_point.name] = _made(entry_point)
    return strategies


def shipped_strategies() -> Mapping[str, Strategy]:
    """Return the strategies that come with the optimiser.

    They are imported only now: the process that serves must not load a solver.
    """
    made = {
        "lexicographic": _call("lexicographic:LexicographicStrategy"),
        "paper": _call("paper:PaperStrategy"),
        "cpsat-aggregated": _call("cpsat_aggregated:cpsat_aggregated"),
        "cpsat-items": _call("thesis:cpsat_items"),
        "cpsat-items-symmetry": _call("thesis:cpsat_items_symmetry"),
        "milp": _call("milp:milp"),
        "boreas": _call("boreas:Boreas"),
        "first-fit-decreasing": _call("first_fit_decreasing:FirstFitDecreasing"),
    }
    if find_spec("z3") is not None:
        made["z3"] = _call("z3_thesis:z3_thesis")
        made["z3-symmetry"] = _call("z3_thesis:z3_symmetry")
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
        raise StrategyUnloadableError(entry_point.name, repr(error)) from error
    if not callable(getattr(made, "solve", None)):
        raise StrategyUnloadableError(entry_point.name, "it has no method 'solve'")
    return cast("Strategy", made)
