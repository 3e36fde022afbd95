"""CP-SAT as the solver of integer programs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from ortools.sat.python import cp_model

from stowage_optimizer.model.options import Clock
from stowage_optimizer.strategies.bounds import round_bound
from stowage_optimizer.strategies.cpsat_presolve import restrict_presolve
from stowage_optimizer.strategies.errors import SolverContradictionError
from stowage_optimizer.strategies.linear.backend import Effort, Outcome
from stowage_optimizer.strategies.linear.program import LinearProgram, Terms, Values

CP_SAT_STEPS = 0.25
"""Deterministic steps of CP-SAT in one of ours; see `STEPS_PER_S` of the paper's."""


@dataclass(frozen=True, slots=True)
class CpSat:
    """CP-SAT; its bounds are integers and count as proofs."""

    clock: Clock = time.monotonic
    name: str = "CP-SAT"
    exact: bool = True
    flaw: str = ""

    def maximise(
        self,
        program: LinearProgram,
        metric: Terms,
        *,
        start: Values,
        effort: Effort,
        offer: Callable[[Values], None],
    ) -> Outcome:
        """Maximise ``metric``; see `Backend.maximise`."""
        began = self.clock()
        model, variables = _model(program)
        for variable, value in zip(variables, start, strict=True):
            model.add_hint(variable, value)
        model.maximize(_sum(variables, metric))
        solver = cp_model.CpSolver()
        _configure(solver, effort)
        status = solver.solve(model, _Listener(variables, offer))
        if status in (cp_model.INFEASIBLE, cp_model.MODEL_INVALID):
            raise SolverContradictionError(self.name, solver.status_name(status))
        bound = None
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            bound = round_bound(solver.best_objective_bound)
        spent = self.clock() - began
        if effort.counted:
            spent = solver.deterministic_time / CP_SAT_STEPS
        return Outcome(bound, spent)


def _model(program: LinearProgram) -> tuple[cp_model.CpModel, list[cp_model.IntVar]]:
    model = cp_model.CpModel()
    variables = [model.new_int_var(0, upper, "") for upper in program.upper]
    for row in program.rows:
        load = _sum(variables, row.terms)
        if row.lower is None:
            model.add(load <= row.upper)
        else:
            model.add_linear_constraint(load, row.lower, row.upper)
    return model, variables


def _sum(variables: list[cp_model.IntVar], terms: Terms) -> cp_model.LinearExpr:
    return cp_model.LinearExpr.weighted_sum(
        [variables[variable] for variable, _ in terms],
        [coefficient for _, coefficient in terms],
    )


def _configure(solver: cp_model.CpSolver, effort: Effort) -> None:
    restrict_presolve(solver)
    parameters = solver.parameters
    parameters.random_seed = effort.seed
    if effort.counted:
        parameters.num_workers = 1
        parameters.max_deterministic_time = effort.amount * CP_SAT_STEPS
    else:
        parameters.num_workers = effort.workers
        parameters.max_time_in_seconds = effort.amount


class _Listener(cp_model.CpSolverSolutionCallback):
    """Offers each solution as it is found."""

    def __init__(
        self, variables: list[cp_model.IntVar], offer: Callable[[Values], None]
    ) -> None:
        super().__init__()
        self._variables = variables
        self._offer = offer

    def on_solution_callback(self) -> None:
        """Read the solution and offer it."""
        self._offer([self.value(variable) for variable in self._variables])
