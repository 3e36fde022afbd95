"""One call of CP-SAT, with its limits and what it proved."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ortools.sat.python import cp_model

from stowage_optimizer.model.options import Clock, SolveOptions
from stowage_optimizer.strategies.bounds import round_bound
from stowage_optimizer.strategies.cpsat_presolve import restrict_presolve
from stowage_optimizer.strategies.errors import SolverContradictionError
from stowage_optimizer.strategies.incumbent import Incumbent
from stowage_optimizer.strategies.paper.model import PaperModel

LARGEST_SEED = 2**31
"""CP-SAT takes 31 bits of seed."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a solve proved and what it used.

    Parameters
    ----------
    bound
        Proved upper limit on the metric, None if nothing was proved.
    spent
        Seconds, or deterministic steps.
    """

    bound: int | None
    spent: float


def maximise(
    metric: cp_model.LinearExpr,
    *,
    phase: str,
    model: PaperModel,
    incumbent: Incumbent,
    limit: float,
    options: SolveOptions,
    clock: Clock,
) -> Outcome:
    """Maximise ``metric`` from the incumbent on, offering it each solution.

    Raises
    ------
    SolverContradictionError
        The solver finds the model infeasible, which the incumbent refutes.
    """
    started = clock()
    model.hint(incumbent.assignment)
    model.cp.maximize(metric)
    solver = cp_model.CpSolver()
    _configure(solver, limit, options)
    status = solver.solve(model.cp, _Listener(model, incumbent))
    if status in (cp_model.INFEASIBLE, cp_model.MODEL_INVALID):
        raise SolverContradictionError(phase, solver.status_name(status))
    bound = None
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        # The callback has seen every solution, also the last.
        bound = round_bound(solver.best_objective_bound)
    spent = solver.deterministic_time if options.deterministic else clock() - started
    return Outcome(bound, spent)


def _configure(solver: cp_model.CpSolver, limit: float, options: SolveOptions) -> None:
    restrict_presolve(solver)
    parameters = solver.parameters
    parameters.random_seed = options.seed % LARGEST_SEED
    if options.deterministic:
        # Interleaved workers would be deterministic too, but overrun their steps.
        parameters.num_workers = 1
        parameters.max_deterministic_time = limit
    else:
        parameters.num_workers = options.workers or len(os.sched_getaffinity(0))
        parameters.max_time_in_seconds = limit


class _Listener(cp_model.CpSolverSolutionCallback):
    """Offers each solution to the incumbent as it is found."""

    def __init__(self, model: PaperModel, incumbent: Incumbent) -> None:
        super().__init__()
        self._model = model
        self._incumbent = incumbent

    def on_solution_callback(self) -> None:
        """Read the solution and offer it."""
        self._incumbent.offer(
            self._model.read(self.boolean_value, self._incumbent.assignment)
        )
