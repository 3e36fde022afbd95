"""Touching every part of the solver once, before a call has to wait for it."""

from __future__ import annotations

from ortools.sat.python import cp_model


def warm_up() -> None:
    """Solve the smallest problem there is."""
    model = cp_model.CpModel()
    chosen = model.new_bool_var("chosen")
    model.maximize(chosen)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.solve(model)
