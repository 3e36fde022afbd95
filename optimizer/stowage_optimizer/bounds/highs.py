"""Linear programs as arrays, solved by HiGHS.

It computes in floating point: what it returns are prices to try, never a proof.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import highspy
import numpy as np

from stowage_optimizer.bounds.question import Floats
from stowage_optimizer.model.problem import Indices, Ints

LONGEST_S = 3600.0
"""Longest time limit that is passed on; the caller's may be endless."""

FINAL = (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kTimeLimit)
"""What another try would not change."""


@dataclass(frozen=True, slots=True)
class Entries:
    """Some of a matrix: row, column and value of each entry, one shape ``(n,)``."""

    row: Ints
    column: Ints
    value: Floats


@dataclass(frozen=True, slots=True)
class Program:
    """What to minimise. No column is negative.

    Parameters
    ----------
    cost, upper
        By column, shape ``(columns,)``.
    low, high
        By row, shape ``(rows,)``; infinite where there is no limit.
    entries
        No entry is named twice.
    whole
        Columns that are whole numbers; None for none.
    """

    cost: Floats
    upper: Floats
    low: Floats
    high: Floats
    entries: Sequence[Entries]
    whole: Ints | None = None


def quiet_solver(**options: bool | int | float | str) -> highspy.Highs:
    """Return a solver of one thread that prints nothing."""
    solver = highspy.Highs()
    for name, value in {"output_flag": False, "threads": 1, **options}.items():
        solver.setOptionValue(name, value)
    return solver


def solver_of(program: Program, **options: bool | int | float | str) -> highspy.Highs:
    """Return a quiet solver of ``program``."""
    solver = quiet_solver(**options)
    solver.passModel(_lp(program))
    return solver


def solved(solver: highspy.Highs, limit_s: float) -> bool:
    """Return whether the optimum is found in time.

    It goes on from the last basis, or begins afresh where numbers got lost in that.
    """
    # HiGHS's limit is on all that a solver ever ran.
    end = solver.getRunTime() + min(max(0.001, limit_s), LONGEST_S)
    solver.setOptionValue("time_limit", end)
    solver.run()
    if solver.getModelStatus() in FINAL:
        return bool(solver.getModelStatus() == highspy.HighsModelStatus.kOptimal)
    solver.clearSolver()
    solver.run()
    return bool(solver.getModelStatus() == highspy.HighsModelStatus.kOptimal)


def minimum_duals(program: Program, limit_s: float, **options: bool | int | float | str) -> Floats | None:
    """Return the duals by row at the minimum; None if it is not found in time."""
    solver = solver_of(program, **options)
    if not solved(solver, limit_s):
        return None
    return np.array(solver.getSolution().row_dual)


ONE_APART = 0.9
"""Values of whole numbers that differ by less are the same."""


def best_whole(program: Program, start: Floats, limit_s: float, nodes: int | None) -> Floats | None:
    """Return the columns of something better than ``start``; None if none is found.

    Parameters
    ----------
    start
        By column, shape ``(columns,)``; it obeys all limits.
    nodes
        Nodes of the search tree at most, where time must not matter.
    """
    solver = quiet_solver(mip_rel_gap=0.0, mip_abs_gap=ONE_APART)
    solver.setOptionValue("time_limit", min(max(0.001, limit_s), LONGEST_S))
    if nodes is not None:
        solver.setOptionValue("mip_max_nodes", nodes)
    solver.passModel(_lp(program))
    solution = highspy.HighsSolution()
    solution.col_value = start.tolist()
    solver.setSolution(solution)
    solver.run()
    if solver.getInfo().primal_solution_status != highspy.kSolutionStatusFeasible:
        return None
    found = np.array(solver.getSolution().col_value)
    better = program.cost @ found < program.cost @ start - ONE_APART
    return found if better else None


def by_column(entries: Sequence[Entries], columns: int) -> tuple[Indices, Indices, Floats]:
    """Return starts, of one column more than there are, rows and values."""
    row, column, value = (
        np.concatenate([getattr(one, name) for one in entries]) for name in ("row", "column", "value")
    )
    order = np.lexsort((row, column))
    starts = np.searchsorted(column[order], np.arange(columns + 1))
    return starts.astype(np.int32), row[order].astype(np.int32), value[order]


def _lp(program: Program) -> highspy.HighsLp:
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(program.cost), len(program.low)
    lp.col_cost_ = program.cost
    lp.col_lower_, lp.col_upper_ = np.zeros(len(program.cost)), program.upper
    lp.row_lower_, lp.row_upper_ = program.low, program.high
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    starts, rows, values = by_column(program.entries, len(program.cost))
    lp.a_matrix_.start_, lp.a_matrix_.index_ = starts, rows
    lp.a_matrix_.value_ = values
    if program.whole is not None:
        kinds = [highspy.HighsVarType.kContinuous] * len(program.cost)
        for column in program.whole.tolist():
            kinds[column] = highspy.HighsVarType.kInteger
        lp.integrality_ = kinds
    return lp
