"""`paper`, Algorithm 1: tier by tier, place as many pods as possible, then disrupt few.

Differences from the printed text, each on purpose:

- Tiers are the distinct priorities present, not a range of numbers.
- Line 18 reads ``>=``: with the printed ``<=`` a lower tier may undo what phase 2
  won for a higher one.
- Under the `STRICT` policy phase 1 is split in two. First the number of running pods
  of exactly this priority that keep a node is maximised and fixed, then the number of
  pods placed. A pod that is left unplaced then is so in *every* best answer of the
  tiers above: only strictly higher priority pushes a running pod out. A pending pod
  never takes the place of a running one of its own priority.
- A phase whose limit the incumbent already meets is not solved: the answer is known.
- Where the solver finds nothing in time, the best assignment so far counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ortools.sat.python import cp_model

from stowage_optimizer.assignments.incumbent import Incumbent
from stowage_optimizer.bounds.phase import Phase
from stowage_optimizer.bounds.proofs import Proof, trivial_bounds
from stowage_optimizer.model.certificate import ProofMethod
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.solution import Publish, Solution
from stowage_optimizer.model.tie import Values
from stowage_optimizer.model.time_budget import TimeBudget
from stowage_optimizer.programs.program import STAY
from stowage_optimizer.programs.solver import Outcome, run_cp_sat
from stowage_optimizer.programs.tiers import TierLoop


@dataclass(frozen=True, slots=True)
class PaperStrategy:
    """The paper's Algorithm 1 (Christensen, Giallorenzo, Mauro)."""

    def solve(self, packing: Packing, budget: TimeBudget, publish: Publish) -> Solution:
        """Return the best solution found in time; see `Strategy.solve`."""
        bounds = trivial_bounds(packing)
        incumbent = Incumbent(packing, bounds, budget.policy, publish)
        publish(incumbent.solution())
        proof = Proof(ProofMethod.CP_SAT)
        _Run(packing, budget, incumbent, bounds, flaw="", proof=proof).run()
        return incumbent.solution()


@dataclass(slots=True)
class _Run(TierLoop):
    """The loop over one model, which grows tier by tier."""

    _model: PaperModel = field(init=False)

    def __post_init__(self) -> None:
        TierLoop.__post_init__(self)
        self._model = PaperModel(self.packing)

    def begin(self, tier: int) -> None:
        """Add the items of ``tier`` to the model."""
        self._model.add_tier(self.packing.tiers[tier])

    def maximise(self, phase: Phase, tier: int, amount: float) -> Outcome:
        """Maximise ``phase`` (lines 5 and 12 to 13)."""
        return self._model.maximise(
            self._metric(phase, tier),
            f"tier {self.packing.tiers[tier]}, {phase.name.lower()}",
            self.incumbent,
            self.budget.for_solver(amount),
        )

    def hold(self, phase: Phase, tier: int, reached: int, limit: int) -> None:
        """Add what is reached as a constraint."""
        metric = self._metric(phase, tier)
        if reached == limit:
            self._model.cp.add(metric == limit)  # Lines 8 and 16.
        else:
            self._model.cp.add(metric >= reached)  # Lines 10 and 18.

    def _metric(self, phase: Phase, tier: int) -> cp_model.LinearExpr:
        return self._model.metric(phase, self.packing.tiers[tier])


class PaperModel:
    """Bin-packing constraints that grow tier by tier.

    ``x[i, j]`` says that item i is on node j (Algorithm 1, line 3).
    """

    def __init__(self, packing: Packing) -> None:
        self.packing = packing
        self.cp = cp_model.CpModel()
        self._x: dict[int, dict[int, cp_model.IntVar]] = {}

    def add_tier(self, priority: int) -> None:
        """Add the items of ``priority`` and the capacities of all items so far."""
        for index, kind in enumerate(self.packing.kind_of):
            if kind.priority == priority:
                row = {node: self.cp.new_bool_var("") for node in kind.eligible}
                self._x[index] = row
                # Equation (3): on at most one node.
                self.cp.add_at_most_one(row.values())
        on_node = self._by_node()
        for node in range(len(self.packing.room)):
            for dimension in range(len(self.packing.room[node])):
                self._add_capacity(node, dimension, on_node[node])

    def metric(self, phase: Phase, priority: int) -> cp_model.LinearExpr:
        """Return what ``phase`` of the last tier, ``priority``, maximises.

        `PLACE` counts the items placed by their worth (Algorithm 1, line 5), `KEEP` the running ones
        of exactly this priority, and `DISRUPT` weighs running items: 3 a stay, 1 a
        move, 0 an eviction (line 13).
        """
        terms: list[cp_model.IntVar] = []
        weights: list[int] = []
        for index, row in self._x.items():
            kind, home = self.packing.kind_of[index], self.packing.current[index]
            if phase is not Phase.PLACE and home is None:
                continue
            if phase is Phase.KEEP and kind.priority != priority:
                continue
            stay = STAY if phase is Phase.DISRUPT else 1
            each = kind.worth if phase is Phase.PLACE else 1
            terms.extend(row.values())
            weights.extend(each * stay if node == home else each for node in row)
        return cp_model.LinearExpr.weighted_sum(terms, weights)

    def maximise(self, metric: cp_model.LinearExpr, phase: str, incumbent: Incumbent, budget: TimeBudget) -> Outcome:
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
        variables = [x for row in self._x.values() for x in row.values()]

        def offer(values: Values) -> None:
            incumbent.offer(self._read(values, incumbent.assignment))

        return run_cp_sat(self.cp, variables, offer, budget, name=phase, began=began)

    def _read(self, values: Values, otherwise: Assignment) -> Assignment:
        """Return the assignment of a solution.

        Items of tiers not yet in the model keep their node of ``otherwise``.
        """
        assignment, each = list(otherwise), iter(values)
        for index, row in self._x.items():
            nodes = [node for node in row if next(each)]
            assignment[index] = nodes[0] if nodes else None
        return tuple(assignment)

    def _by_node(self) -> list[list[tuple[int, cp_model.IntVar]]]:
        on_node: list[list[tuple[int, cp_model.IntVar]]] = [[] for _ in self.packing.room]
        for index, row in self._x.items():
            for node, x in row.items():
                on_node[node].append((index, x))
        return on_node

    def _add_capacity(self, node: int, dimension: int, members: list[tuple[int, cp_model.IntVar]]) -> None:
        """Add equation (1) or (2) for one node and one resource."""
        packing, room = self.packing, self.packing.room[node][dimension]
        asking = [
            (amount, packing.current[index] == node, x)
            for index, x in members
            if (amount := packing.kind_of[index].demand[dimension])
        ]
        amounts = [amount for amount, _, _ in asking]
        if sum(amounts) <= room:
            return
        load = cp_model.LinearExpr.weighted_sum([x for _, _, x in asking], amounts)
        at_home = sum(amount for amount, stays, _ in asking if stays)
        if at_home <= room:
            self.cp.add(load <= room)
            return
        # Overcommitted already: its pods may stay, but none that asks for this
        # resource may come until everything fits.
        open_ = self.cp.new_bool_var(f"open_{node}_{dimension}")
        self.cp.add(load + (at_home - room) * open_ <= at_home)
        for _, stays, x in asking:
            if not stays:
                self.cp.add_implication(x, open_)
