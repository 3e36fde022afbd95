"""Touching every part of the solver once, before a call has to wait for it."""

from __future__ import annotations

import gc

from ortools.sat.python import cp_model

from stowage_optimizer import bounds
from stowage_optimizer.search.background_compiler import (
    BACKGROUND_PARTS,
    BackgroundCompiler,
)
from stowage_optimizer.search.warmup import PARTS


def warm_up(compiler: BackgroundCompiler) -> None:
    """Load or compile hot loops, solve the smallest problem, and settle the heap.

    A pass of the garbage collector over all that was imported takes longer than the
    search's slices, and would copy the memory that children share.

    Parameters
    ----------
    compiler
        The process that compiles some of the loops meanwhile.
    """
    bounds.warmup()
    for name, compile_or_load in PARTS.items():
        if name not in BACKGROUND_PARTS:
            compile_or_load()
    model = cp_model.CpModel()
    chosen = model.new_bool_var("chosen")
    model.maximize(chosen)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.solve(model)
    compiler.wait()
    for name in BACKGROUND_PARTS:
        PARTS[name]()
    gc.collect()
    gc.freeze()
