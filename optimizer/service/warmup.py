"""Touching every part of the solver once, before a call has to wait for it."""

from __future__ import annotations

import gc

from ortools.sat.python import cp_model

from optimizer import bounds
from optimizer.search.warmup import warm_up as compile_search


def warm_up() -> None:
    """Load or compile hot loops, solve the smallest problem, and settle the heap.

    A pass of the garbage collector over all that was imported takes longer than the
    search's slices, and would copy the memory that children share.
    """
    bounds.warmup()
    compile_search()
    model = cp_model.CpModel()
    chosen = model.new_bool_var("chosen")
    model.maximize(chosen)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.solve(model)
    gc.collect()
    gc.freeze()
