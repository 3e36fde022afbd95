"""CP-SAT within a budget."""

from collections.abc import Callable
from dataclasses import dataclass

from ortools.sat.python import cp_model

from stowage_optimizer.bounds.proofs import round_bound
from stowage_optimizer.errors import OptimizerError
from stowage_optimizer.model.tie import Values
from stowage_optimizer.model.time_budget import TimeBudget

Offer = Callable[[Values], None]
"""Called with each better solution, at the latest with the last."""

CP_SAT_STEPS = 0.25
"""Deterministic steps of CP-SAT in one of ours. One of its own took between 0.4 and
1.1 s (2 busy cores, 8 to 32 nodes), so that the wall-clock kill stays far off."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a solve proved, or believes, and what it used.

    Parameters
    ----------
    bound
        Upper bound on the sum, None if there is none.
    spent
        Seconds, or steps.
    """

    bound: int | None
    spent: float


class SolverContradictionError(OptimizerError):
    """The solver denies what is known to be possible."""

    def __init__(self, phase: str, status: str) -> None:
        self.phase = phase
        self.status = status
        super().__init__(
            f"the solver says {status} in {phase}, although the placement it was "
            "given as a hint meets every constraint; report this snapshot as a bug"
        )


def run_cp_sat(
    model: cp_model.CpModel,
    variables: list[cp_model.IntVar],
    offer: Offer,
    budget: TimeBudget,
    *,
    name: str,
    began: float,
    relaxes: bool = False,
) -> Outcome:
    """Solve ``model``, and offer the values of ``variables`` in each better solution.

    Parameters
    ----------
    name
        Who solves what, for messages.
    began
        When the time began that is charged.
    relaxes
        Whether linear relaxations lead the search, in one thread.

    Raises
    ------
    SolverContradictionError
        CP-SAT finds infeasible what has a hint that is feasible.
    """
    solver = cp_model.CpSolver()
    _configure(solver, budget)
    if relaxes:
        solver.parameters.num_workers, solver.parameters.linearization_level = 1, 2
    status = solver.solve(model, _Listener(variables, offer))
    if status in (cp_model.INFEASIBLE, cp_model.MODEL_INVALID):
        raise SolverContradictionError(name, solver.status_name(status))
    bound = None
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        bound = round_bound(solver.best_objective_bound)
    if budget.deterministic:
        return Outcome(bound, solver.deterministic_time / CP_SAT_STEPS)
    return Outcome(bound, budget.clock() - began)


def _configure(solver: cp_model.CpSolver, budget: TimeBudget) -> None:
    """Set the limits, and keep presolve from losing hints and solutions."""
    parameters = solver.parameters
    # Symmetry breaking in presolve makes the hint infeasible, and the incumbent is
    # lost: on 32 nodes and 256 pods the search then starts below it and a second late.
    parameters.symmetry_level = 0
    # At-most-one rows within linear ones: version 9.15 removes feasible solutions, and
    # then proves that there are none better (google/or-tools issue 5293).
    parameters.presolve_inclusion_work_limit = 0
    parameters.random_seed = budget.seed
    if budget.deterministic:
        # Interleaved workers would be deterministic too, but overrun their steps.
        parameters.num_workers = 1
        parameters.max_deterministic_time = budget.limit_s * CP_SAT_STEPS
    else:
        parameters.num_workers = budget.threads
        parameters.max_time_in_seconds = budget.limit_s


class _Listener(cp_model.CpSolverSolutionCallback):
    """Offers each solution as it is found."""

    def __init__(self, variables: list[cp_model.IntVar], offer: Offer) -> None:
        super().__init__()
        self._variables = variables
        self._offer = offer

    def on_solution_callback(self) -> None:
        """Read the solution and offer it."""
        self._offer([self.value(variable) for variable in self._variables])
