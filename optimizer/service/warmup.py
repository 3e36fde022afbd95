"""Touching every part of the solver once, before a call has to wait for it."""

from __future__ import annotations

import gc
from collections.abc import Callable

from ortools.sat.python import cp_model

from optimizer import bounds
from optimizer.search.warmup import warm_up as compile_search

PARTS: dict[str, Callable[[], None]] = {
    "bounds": bounds.warmup,
    "search": compile_search,
}
"""What is compiled, in parts that do not need each other."""


def compile_part(name: str) -> None:
    """Load or compile the hot loops of one of `PARTS`."""
    PARTS[name]()


def warm_up() -> None:
    """Load or compile hot loops, solve the smallest problem, and settle the heap.

    A pass of the garbage collector over all that was imported takes longer than the
    search's slices, and would copy the memory that children share.
    """
    for name in PARTS:
        compile_part(name)
    model = cp_model.CpModel()
    chosen = model.new_bool_var("chosen")
    model.maximize(chosen)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.solve(model)
    gc.collect()
    gc.freeze()
