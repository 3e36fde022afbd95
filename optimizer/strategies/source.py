"""Where strategies come from, by name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import cast

from optimizer.strategies.strategy import Strategy

SHIPPED = "optimizer.strategies.source:shipped_strategies"
"""Path of the function that brings the strategies of the optimiser itself."""


def load_strategies(path: str) -> Mapping[str, Strategy]:
    """Return the strategies that the function at ``path`` brings.

    Parameters
    ----------
    path
        As in ``package.module:function``; it is called in child processes.
    """
    module, _, function = path.partition(":")
    brought = getattr(import_module(module), function)()
    return cast("Mapping[str, Strategy]", brought)


def shipped_strategies() -> Mapping[str, Strategy]:
    """Return the strategies that come with the optimiser.

    They are imported only now: the process that serves must not load a solver.
    """
    paper: Strategy = import_module("optimizer.strategies.paper").PaperStrategy()
    return {"paper": paper}
