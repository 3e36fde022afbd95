"""What CP-SAT's presolve must leave alone, wherever a strategy uses it."""

from __future__ import annotations

from ortools.sat.python import cp_model


def restrict_presolve(solver: cp_model.CpSolver) -> None:
    """Keep presolve from losing hints, and solutions."""
    parameters = solver.parameters
    # Symmetry breaking in presolve makes the hint infeasible, and the incumbent is
    # lost: on 32 nodes and 256 pods the search then starts below it and a second late.
    parameters.symmetry_level = 0
    # At-most-one rows within linear ones: version 9.15 removes feasible solutions, and
    # then proves that there are none better (google/or-tools issue 5293).
    parameters.presolve_inclusion_work_limit = 0
