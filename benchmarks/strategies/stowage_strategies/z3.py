"""`z3`, `z3-symmetry`: the thesis's integer variables for each pod and node, on Z3.

The thesis's phase 2 counts moves and evictions equally. Under the `STRICT` policy that
asks for the same plans as our weights do, since the pods evicted of a tier are settled
before its moves; under `PAPER` the paper's weights hold, so that strategies can be
compared.

Z3's own ``maximize`` reports nothing before the optimum is proved. So, as in the thesis
(section 4.2.2, custom minimize and maximize), plain checks ask for a solution that is
better than the last one, until there is none: then the last one is the best. Z3
computes with exact numbers, so this is a proof.
"""

import z3

from stowage_optimizer.model.tie import Terms, Values
from stowage_optimizer.model.time_budget import TimeBudget
from stowage_optimizer.programs.program import LinearProgram
from stowage_optimizer.programs.solver import Offer, Outcome
from stowage_strategies.linear import LinearStrategy, rows_of
from stowage_strategies.thesis import FLAW, ItemFormulation, SymmetryFormulation

WORK_PER_STEP = 4_000_000
"""Units of Z3's ``rlimit`` in one step, about a second's worth."""


def maximise(program: LinearProgram, metric: Terms, start: Values, budget: TimeBudget, offer: Offer) -> Outcome:
    """Maximise the sum, as `LinearProgram.maximise` does, by Z3's linear arithmetic over the integers."""
    began = budget.clock()
    solver, variables = _model(program)
    solver.set("random_seed", budget.seed)
    best, used = _total(metric, start), 0.0
    bound = None
    while used < budget.limit_s:
        solver.add(_sum(variables, metric) > best)
        _limit(solver, budget, used)
        verdict = solver.check()
        used = budget.clock() - began
        if budget.deterministic:
            used = _work(solver) / WORK_PER_STEP
        if verdict == z3.unsat:
            bound = best
            break
        if verdict != z3.sat:
            break
        values = _values(solver.model(), variables)
        best = _total(metric, values)
        offer(values)
    return Outcome(bound, used)


def _model(program: LinearProgram) -> tuple[z3.Solver, list[z3.ArithRef]]:
    # A context of its own: Z3 reads its seed and limits from there.
    context = z3.Context()
    solver = z3.SolverFor("QF_LIA", ctx=context)
    variables = [z3.Int(f"x{number}", ctx=context) for number in range(len(program.upper))]
    for variable, upper in zip(variables, program.upper, strict=True):
        solver.add(variable >= 0, variable <= upper)
    for terms, lower, upper in rows_of(program):
        load = _sum(variables, terms)
        solver.add(load <= upper)
        if lower is not None:
            solver.add(load >= lower)
    return solver, variables


def _sum(variables: list[z3.ArithRef], terms: Terms) -> z3.ArithRef:
    context = variables[0].ctx
    return z3.Sum([z3.IntVal(0, ctx=context), *(coefficient * variables[variable] for variable, coefficient in terms)])


def _total(terms: Terms, values: Values) -> int:
    return sum(coefficient * values[variable] for variable, coefficient in terms)


def _limit(solver: z3.Solver, budget: TimeBudget, used: float) -> None:
    left = budget.limit_s - used
    if budget.deterministic:
        solver.set("rlimit", max(1, int(left * WORK_PER_STEP)))
    else:
        solver.set("timeout", max(1, int(left * 1000)))


def _work(solver: z3.Solver) -> int:
    statistics = solver.statistics()
    if "rlimit count" not in statistics.keys():  # noqa: SIM118 - no mapping
        return 0
    return int(statistics.get_key_value("rlimit count"))


def _values(model: z3.ModelRef, variables: list[z3.ArithRef]) -> list[int]:
    return [model.eval(variable, model_completion=True).as_long() for variable in variables]


def z3_items() -> LinearStrategy:
    """Return the strategy without the thesis's rows; needs ``z3-solver``."""
    return LinearStrategy(ItemFormulation, maximise)


def z3_symmetry() -> LinearStrategy:
    """Return the strategy with them."""
    return LinearStrategy(SymmetryFormulation, maximise, FLAW)
