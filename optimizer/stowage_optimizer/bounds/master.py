"""The linear program over patterns: its duals are the prices to try next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from ortools.linear_solver import pywraplp

from stowage_optimizer.bounds.groups import Groups
from stowage_optimizer.bounds.question import Phase
from stowage_optimizer.bounds.scope import Scope
from stowage_optimizer.search.problem import Indices

Floats = NDArray[np.float64]

PENALTIES = {Phase.KEEP: 4.0, Phase.PLACE: 4.0, Phase.DISRUPT: 100.0}
"""Cost of a missing unit of a requirement, until patterns that meet it are found."""

LONGEST_S = 3600.0
"""Longest time limit that is passed on; the caller's may be endless."""

GOING_ON = "use_preprocessing: false use_dual_simplex: false"
"""So that each solve starts from the last one's basis."""

AFRESH = "use_preprocessing: true use_dual_simplex: true"
"""For where numbers got lost in that basis."""


@dataclass(frozen=True, slots=True)
class Duals:
    """Floating-point prices; see `Prices`."""

    pod: Floats
    run: Floats
    requirement: Floats

    def towards(self, other: Duals, share: float) -> Duals:
        """Return the prices that lie ``share`` of the way towards ``other``."""
        return Duals(
            self.pod + share * (other.pod - self.pod),
            self.run + share * (other.run - self.run),
            self.requirement + share * (other.requirement - self.requirement),
        )


class Master:
    """The linear program; patterns are added, never removed."""

    def __init__(self, phase: Phase, scope: Scope, groups: Groups) -> None:
        self._scope, self._groups = scope, groups
        # If all pods of a kind run, every placed one is a running pod.
        self._all_run = scope.running == scope.count
        self._solver: Any = pywraplp.Solver.CreateSolver("GLOP")
        self._infinity = self._solver.infinity()
        self._goal = self._solver.Objective()
        self._goal.SetMaximization()
        self._pod = [self._row(-self._infinity, int(most)) for most in scope.count]
        self._node = [self._row(-self._infinity, int(size)) for size in groups.size]
        self._need = [
            self._row(one.constant, self._infinity) for one in scope.requirements
        ]
        self._run = self._mixed_kinds()
        self._known: set[tuple[int, bytes]] = set()
        for row in self._need:
            self._column(-PENALTIES[phase], self._infinity, [(row, 1.0)])

    def add(self, group: int, pattern: Indices) -> bool:
        """Add a pattern, shape ``(kinds, 2)``; return whether it is new."""
        key = (group, pattern.tobytes())
        if key in self._known:
            return False
        self._known.add(key)
        kinds = np.flatnonzero(pattern.any(axis=1))
        named = kinds.tolist()
        stays = pattern[kinds, 0].astype(float)
        placed = stays + pattern[kinds, 1]
        running = np.where(self._all_run[kinds], placed, 0.0)
        entries = [(self._node[group], 1.0)]
        entries += [
            (self._pod[k], n) for k, n in zip(named, placed.tolist(), strict=True)
        ]
        for row, one in zip(self._need, self._scope.requirements, strict=True):
            amount = placed @ one.placed[kinds] + stays @ one.stays[kinds]
            entries.append((row, float(amount + running @ one.running[kinds])))
        for k, n in zip(named, placed.tolist(), strict=True):
            if k in self._run:
                entries.append((self._run[k], -n))
        goal = self._scope.objective
        worth = placed @ goal.placed[kinds] + stays @ goal.stays[kinds]
        worth += running @ goal.running[kinds]
        self._column(float(worth), self._infinity, entries)
        return True

    def patterns(self) -> Iterator[tuple[int, Indices]]:
        """Yield every pattern and its group; of shape ``(kinds, 2)``."""
        for group, content in sorted(self._known):
            yield group, np.frombuffer(content, np.int32).reshape(-1, 2)

    def solve(self, limit_s: float) -> tuple[float, Duals] | None:
        """Return the value and its duals; None if it was not solved in time."""
        if not self._solved(limit_s, GOING_ON) and not self._solved(limit_s, AFRESH):
            return None
        run = np.zeros(len(self._pod))
        for k, row in self._run.items():
            run[k] = row.dual_value()
        return self._goal.Value(), Duals(
            pod=np.array([row.dual_value() for row in self._pod]),
            run=run,
            requirement=np.array([-row.dual_value() for row in self._need]),
        )

    def _solved(self, limit_s: float, parameters: str) -> bool:
        self._solver.SetSolverSpecificParametersAsString(parameters)
        self._solver.SetTimeLimit(int(1000 * min(max(0.001, limit_s), LONGEST_S)))
        return bool(self._solver.Solve() == pywraplp.Solver.OPTIMAL)

    def _mixed_kinds(self) -> dict[int, Any]:
        """Add how many of the running pods have a node, where some of a kind run."""
        scope, rows = self._scope, {}
        for k in np.flatnonzero((scope.running > 0) & ~self._all_run):
            own = [one.running[k] for one in scope.requirements]
            if not (scope.objective.running[k] or any(own)):
                continue
            rows[int(k)] = self._row(-self._infinity, 0.0)
            entries = [(rows[int(k)], 1.0)]
            entries += [
                (row, float(weight))
                for row, weight in zip(self._need, own, strict=True)
                if weight
            ]
            worth = float(scope.objective.running[k])
            self._column(worth, float(scope.running[k]), entries)
        return rows

    def _row(self, low: float, high: float) -> Any:
        return self._solver.Constraint(float(low), float(high))

    def _column(self, worth: float, most: float, entries: list[Any]) -> None:
        column = self._solver.NumVar(0.0, most, "")
        self._goal.SetCoefficient(column, worth)
        for row, amount in entries:
            if amount:
                row.SetCoefficient(column, amount)
