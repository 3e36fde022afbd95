"""The CP-SAT model: x[i, j] says that item i is on node j (Algorithm 1, line 3)."""

from __future__ import annotations

from collections.abc import Callable

from ortools.sat.python import cp_model

from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.strategies.bounds import round_bound
from stowage_optimizer.strategies.budget import Budget
from stowage_optimizer.strategies.incumbent import Incumbent
from stowage_optimizer.strategies.linear.solver import (
    CP_SAT_STEPS,
    Outcome,
    SolverContradictionError,
    configure,
)

Value = Callable[[cp_model.IntVar], bool]
"""Reads a variable of a solution."""


class PaperModel:
    """Bin-packing constraints that grow tier by tier."""

    def __init__(self, packing: Packing) -> None:
        self.packing = packing
        self.cp = cp_model.CpModel()
        self._x: dict[int, dict[int, cp_model.IntVar]] = {}

    def add_tier(self, priority: int) -> None:
        """Add the items of ``priority`` and the capacities of all items so far."""
        for index, item in enumerate(self.packing.items):
            if item.priority == priority:
                row = {node: self.cp.new_bool_var("") for node in item.eligible}
                self._x[index] = row
                # Equation (3): on at most one node.
                self.cp.add_at_most_one(row.values())
        on_node = self._by_node()
        for node in range(len(self.packing.room)):
            for dimension in range(len(self.packing.room[node])):
                self._add_capacity(node, dimension, on_node[node])

    def placed(self) -> cp_model.LinearExpr:
        """Return how many items are placed (Algorithm 1, line 5)."""
        return cp_model.LinearExpr.sum(
            [x for row in self._x.values() for x in row.values()]
        )

    def kept(self, priority: int) -> cp_model.LinearExpr:
        """Return how many running items of exactly ``priority`` are placed."""
        items = self.packing.items
        return cp_model.LinearExpr.sum(
            [
                x
                for index, row in self._x.items()
                if items[index].priority == priority and items[index].home is not None
                for x in row.values()
            ]
        )

    def stability(self) -> cp_model.LinearExpr:
        """Return the metric of phase 2: 3 a stay, 1 a move, 0 an eviction (line 13)."""
        terms: list[cp_model.IntVar] = []
        weights: list[int] = []
        for index, row in self._x.items():
            home = self.packing.items[index].home
            if home is not None:
                terms.extend(row.values())
                weights.extend(3 if node == home else 1 for node in row)
        return cp_model.LinearExpr.weighted_sum(terms, weights)

    def running(self) -> int:
        """Return how many items of the tiers so far run now."""
        items = self.packing.items
        return sum(1 for index in self._x if items[index].home is not None)

    def maximise(
        self,
        metric: cp_model.LinearExpr,
        phase: str,
        incumbent: Incumbent,
        budget: Budget,
    ) -> Outcome:
        """Maximise ``metric`` from the incumbent on, offering it each solution.

        Raises
        ------
        SolverContradictionError
            The solver finds ``phase`` infeasible, which the incumbent refutes.
        """
        began = budget.clock()
        self.cp.proto.clear_solution_hint()
        for index, row in self._x.items():
            for node, x in row.items():
                self.cp.add_hint(x, int(incumbent.assignment[index] == node))
        self.cp.maximize(metric)
        solver = cp_model.CpSolver()
        configure(solver, budget)
        status = solver.solve(self.cp, _Listener(self, incumbent))
        if status in (cp_model.INFEASIBLE, cp_model.MODEL_INVALID):
            raise SolverContradictionError(phase, solver.status_name(status))
        bound = None
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            # The callback has seen every solution, also the last.
            bound = round_bound(solver.best_objective_bound)
        if budget.counted:
            return Outcome(bound, solver.deterministic_time / CP_SAT_STEPS)
        return Outcome(bound, budget.clock() - began)

    def read(self, value: Value, otherwise: Assignment) -> Assignment:
        """Return the assignment of a solution.

        Items of tiers not yet in the model keep their node of ``otherwise``.
        """
        assignment = list(otherwise)
        for index, row in self._x.items():
            assignment[index] = next(
                (node for node, x in row.items() if value(x)), None
            )
        return tuple(assignment)

    def _by_node(self) -> list[list[tuple[int, cp_model.IntVar]]]:
        on_node: list[list[tuple[int, cp_model.IntVar]]] = [
            [] for _ in self.packing.room
        ]
        for index, row in self._x.items():
            for node, x in row.items():
                on_node[node].append((index, x))
        return on_node

    def _add_capacity(
        self, node: int, dimension: int, members: list[tuple[int, cp_model.IntVar]]
    ) -> None:
        """Add equation (1) or (2) for one node and one resource."""
        items, room = self.packing.items, self.packing.room[node][dimension]
        asking = [
            (items[index], x) for index, x in members if items[index].demand[dimension]
        ]
        amounts = [item.demand[dimension] for item, _ in asking]
        if sum(amounts) <= room:
            return
        load = cp_model.LinearExpr.weighted_sum([x for _, x in asking], amounts)
        at_home = sum(item.demand[dimension] for item, _ in asking if item.home == node)
        if at_home <= room:
            self.cp.add(load <= room)
            return
        # Overcommitted already: its pods may stay, but none that asks for this
        # resource may come until everything fits.
        open_ = self.cp.new_bool_var(f"open_{node}_{dimension}")
        self.cp.add(load + (at_home - room) * open_ <= at_home)
        for item, x in asking:
            if item.home != node:
                self.cp.add_implication(x, open_)


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
