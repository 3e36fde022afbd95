"""Linear programs as arrays, solved by HiGHS.

It computes in floating point: what it returns are prices to try, never a proof.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import highspy
import numpy as np

from stowage_optimizer.bounds.phase import Floats
from stowage_optimizer.model.problem import Ints

LONGEST_S = 3600.0
"""Longest time limit that is passed on; the caller's may be endless."""

FINAL = (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kTimeLimit)
"""What another try would not change."""

DUAL, PRIMAL = 1, 4
"""HiGHS's numbers of the simplex that goes on when rows change, or columns are added."""

ONE_APART = 0.9
"""Values of whole numbers that differ by less are the same."""


@dataclass(frozen=True, slots=True)
class Entries:
    """Some of a matrix: row, column and value of each entry, one shape ``(n,)``."""

    row: Ints
    column: Ints
    value: Floats


@dataclass(frozen=True, slots=True)
class Optimum:
    """The minimum, the duals by row, and the values by column."""

    value: float
    dual: Floats
    column: Floats


class LinearProgram:
    """A program to minimise; columns are added, and none is negative.

    Parameters
    ----------
    low, high
        By row, shape ``(rows,)``; infinite where there is no limit.
    options
        HiGHS's own.
    """

    def __init__(self, low: Floats, high: Floats, **options: bool | int | float | str) -> None:
        self._solver = highspy.Highs()
        self.prefer(output_flag=False, threads=1, **options)
        nothing = np.zeros(len(low), np.int32)
        self._solver.addRows(len(low), low, high, 0, nothing, nothing[:0], low[:0])

    def prefer(self, **options: bool | int | float | str) -> None:
        """Set options of HiGHS."""
        for name, value in options.items():
            self._solver.setOptionValue(name, value)

    def add_columns(self, cost: Floats, upper: Floats, entries: Sequence[Entries]) -> None:
        """Add columns from 0 to ``upper``; the entries number them from 0, and name none twice."""
        number = len(cost)
        if not number:
            return
        row, column, value = (
            np.concatenate([getattr(one, name) for one in entries]) for name in ("row", "column", "value")
        )
        order = np.lexsort((row, column))
        starts = np.searchsorted(column[order], np.arange(number)).astype(np.int32)
        rows = row[order].astype(np.int32)
        self._solver.addCols(number, cost, np.zeros(number), upper, len(rows), starts, rows, value[order])

    def change_costs(self, cost: Floats) -> None:
        """Change the costs of the first columns."""
        self._solver.changeColsCost(len(cost), np.arange(len(cost), dtype=np.int32), cost)

    def change_rows(self, low: Floats, high: Floats, first: int = 0) -> None:
        """Change the limits of rows from the ``first`` on."""
        self._solver.changeRowsBounds(len(low), first + np.arange(len(low), dtype=np.int32), low, high)

    def minimum(self, limit_s: float) -> Optimum | None:
        """Return the optimum; None if it is not found in time.

        It goes on from the last basis, or begins afresh where numbers got lost in that.
        """
        solver = self._solver
        # HiGHS's limit is on all that a solver ever ran.
        self.prefer(time_limit=solver.getRunTime() + min(max(0.001, limit_s), LONGEST_S))
        solver.run()
        if solver.getModelStatus() not in FINAL:
            solver.clearSolver()
            solver.run()
        if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        found = solver.getSolution()
        value = solver.getInfo().objective_function_value
        return Optimum(value, np.array(found.row_dual), np.array(found.col_value))

    def better_whole(self, start: Floats, whole: Ints, limit_s: float, nodes: int | None) -> Floats | None:
        """Return the columns of something better than ``start``; None if none is found.

        Parameters
        ----------
        start
            By column, shape ``(columns,)``; it obeys all limits.
        whole
            Columns that are whole numbers.
        nodes
            Nodes of the search tree at most, where time must not matter.
        """
        solver, cost = self._solver, np.array(self._solver.getLp().col_cost_)
        self.prefer(mip_rel_gap=0.0, mip_abs_gap=ONE_APART, time_limit=min(max(0.001, limit_s), LONGEST_S))
        if nodes is not None:
            self.prefer(mip_max_nodes=nodes)
        integer = np.full(len(whole), highspy.HighsVarType.kInteger.value, np.uint8)
        solver.changeColsIntegrality(len(whole), whole.astype(np.int32), integer)
        solution = highspy.HighsSolution()
        solution.col_value = start.tolist()
        solver.setSolution(solution)
        solver.run()
        if solver.getInfo().primal_solution_status != highspy.kSolutionStatusFeasible:
            return None
        found = np.array(solver.getSolution().col_value)
        return found if cost @ found < cost @ start - ONE_APART else None
