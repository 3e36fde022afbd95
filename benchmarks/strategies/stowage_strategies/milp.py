"""`milp`: Algorithm 1 as mixed-integer programs on HiGHS, replicas counted together.

HiGHS is used through OR-Tools. It computes in floating point: a row may be broken by a
little, and a branch cut off that held the best answer. So its solutions are rounded,
and checked by the caller; its bounds end the search but are no proofs.
"""

import math
from datetime import timedelta

from ortools.math_opt.python import mathopt
from ortools.math_opt.solvers import highs_pb2

from stowage_optimizer.model.tie import Terms, Values
from stowage_optimizer.model.time_budget import TimeBudget
from stowage_optimizer.programs.counts import CountFormulation
from stowage_optimizer.programs.program import LinearProgram
from stowage_optimizer.programs.solver import Offer, Outcome
from stowage_strategies.linear import LinearStrategy, rows_of

NODES_PER_STEP = 200
"""Nodes of the search tree in one step; HiGHS has no finer measure of its work."""


def maximise(program: LinearProgram, metric: Terms, start: Values, budget: TimeBudget, offer: Offer) -> Outcome:
    """Maximise the sum, as `LinearProgram.maximise` does, by HiGHS's branch and bound."""
    began = budget.clock()
    model, variables = _model(program, metric)
    hint = mathopt.SolutionHint(variable_values=dict(zip(variables, map(float, start), strict=True)))
    result = mathopt.solve(
        model,
        mathopt.SolverType.HIGHS,
        params=_parameters(budget, budget.clock() - began),
        model_params=mathopt.ModelSolveParameters(solution_hints=[hint]),
    )
    if result.has_primal_feasible_solution():
        offer([round(value) for value in result.variable_values(variables)])
    bound = result.termination.objective_bounds.dual_bound
    spent = budget.limit_s if budget.deterministic else budget.clock() - began
    # A claim of infeasibility has no bound; the incumbent refutes it.
    believed = math.isfinite(bound) and result.has_primal_feasible_solution()
    return Outcome(math.floor(bound + 0.5) if believed else None, spent)


def _model(program: LinearProgram, metric: Terms) -> tuple[mathopt.Model, list[mathopt.Variable]]:
    model = mathopt.Model()
    variables = [model.add_integer_variable(lb=0, ub=upper) for upper in program.upper]
    for terms, lower, upper in rows_of(program):
        bounded = model.add_linear_constraint(lb=-math.inf if lower is None else lower, ub=upper)
        for variable, coefficient in terms:
            bounded.set_coefficient(variables[variable], coefficient)
    model.objective.is_maximize = True
    for variable, coefficient in metric:
        model.objective.set_linear_coefficient(variables[variable], coefficient)
    return model, variables


def _parameters(budget: TimeBudget, gone_s: float) -> mathopt.SolveParameters:
    options = highs_pb2.HighsOptionsProto(string_options={"parallel": "off"})
    limit = None
    if budget.deterministic:
        nodes = max(1, round(budget.limit_s * NODES_PER_STEP))
        options.int_options["mip_max_nodes"] = nodes
    else:
        limit = timedelta(seconds=max(0.0, budget.limit_s - gone_s))
    return mathopt.SolveParameters(
        time_limit=limit, random_seed=budget.seed, relative_gap_tolerance=0.0, absolute_gap_tolerance=0.0, highs=options
    )


def milp() -> LinearStrategy:
    """Return the strategy."""
    return LinearStrategy(CountFormulation, maximise, "HiGHS computes with rounded numbers")
