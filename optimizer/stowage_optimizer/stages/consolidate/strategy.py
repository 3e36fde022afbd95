"""Fewest or cheapest nodes, then fewest moves, in three stages.

Every pod that has a node keeps one, and pending pods stay pending. A quick start comes
first: node after node, the emptiest first, is emptied into the others if there is room.
Then contents of nodes are chosen anew, by kinds of nodes and pods. Where the problem
is small enough, CP-SAT looks for fewer nodes and moves yet, and proves what is best.

What is minimised is a cost: the prices of the nodes in use, or how many there are where
no node has a price.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from stowage_optimizer.assignments.solution_writer import SolutionWriter
from stowage_optimizer.assignments.subproblem import restricted
from stowage_optimizer.bounds.proofs import trivial_bounds
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.problem import Flags, Problem
from stowage_optimizer.model.solution import NodesInUse, Publish, Solution
from stowage_optimizer.model.tie import keeps_ties
from stowage_optimizer.model.time_budget import SHORTEST_SOLVE_S, TimeBudget
from stowage_optimizer.programs.tied import TiedFormulation
from stowage_optimizer.programs.tiers import BUILT_PER_S
from stowage_optimizer.search.search_arrays import overcommitted
from stowage_optimizer.stages.consolidate.diving import DivingSearch
from stowage_optimizer.stages.consolidate.fleet import make_fleet
from stowage_optimizer.stages.consolidate.greedy import emptied
from stowage_optimizer.stages.consolidate.least_cost import LeastCost
from stowage_optimizer.stages.consolidate.limited_moves import ChosenNodes, least_cost_within
from stowage_optimizer.stages.consolidate.node_costs import (
    Costs,
    costs_of,
    fewest_moves,
    least_cost,
    nodes_in_use,
    nodes_of_others,
    without_unpriced_room,
)
from stowage_optimizer.ties.disruptions import allowances_of
from stowage_optimizer.ties.registry import within_limits

MOST_VARIABLES = 100_000
"""Larger programs are not begun. At 500 nodes nothing was found in a minute that other
contents had not brought; 660,000 variables took 2.0 GiB, which is the chart's limit."""

EMPTYING_SHARE, EMPTYING_S = 0.5, 3.0
"""Share of the time for the quick start, and seconds at most: at 5,000 nodes it would
take a minute."""

CHOOSING_SHARE = 0.6
"""Share of the time left for choosing nodes where not all pods may move, and for what
is proved of that."""

FILLING_SHARE = 0.5
"""Share of the time left for other contents, where a program comes after them."""


@dataclass(frozen=True, slots=True)
class Consolidate:
    """The strategy for the objective `CONSOLIDATE`.

    Parameters
    ----------
    related
        The problem with the pods that have demands. A plan leaves them where they are;
        what is proved is of plans that move them too.
    """

    related: Packing | None = None

    def solve(self, packing: Packing, budget: TimeBudget, publish: Publish) -> Solution:
        """Return the solution; it reports the nodes in use, and what is proved of them.

        Its tiers claim nothing: their bounds are those of another objective. Of the
        limits, `min_gain_per_move` does not apply, since nothing is placed.
        """
        related = self.related
        if related is None or related.divisible:
            related = packing
        run = _Run(packing, related, budget)
        publish(run.solution())
        if run.movable:
            run.empty()
            publish(run.solution())
            run.choose()
            publish(run.solution())
            for _ in run.fill_anew():
                publish(run.solution())
            run.solve()
        return replace(run.solution(), message=run.message())


@dataclass(slots=True)
class _Run:
    whole: Packing
    related: Packing
    budget: TimeBudget
    _packing: Packing = field(init=False)
    _counted: Packing = field(init=False)
    _problem: Problem = field(init=False)
    _others: frozenset[int] = field(init=False)
    _immovable: frozenset[int] = field(init=False)
    _assignment: Assignment = field(init=False)
    _costs: Costs = field(init=False)
    _bound: int = field(init=False)
    _fewest: int = field(init=False)
    _fewest_moves: dict[int, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        limits = replace(self.budget.options.limits, min_gain_per_move=0.0)
        running = without_unpriced_room(_running(self.whole))
        self._packing = self._counted = within_limits(running, limits)
        if self.related is not self.whole:
            self._counted = without_unpriced_room(_running(self.related))
        self._problem = self._packing.problem
        self._others = nodes_of_others(self._packing)
        self._immovable = nodes_of_others(self._counted)
        self._assignment = self._packing.current
        self._costs = costs_of(self.whole)
        self._bound = least_cost(self._counted, self._immovable, self._costs)
        each = Costs((1,) * len(self._costs.of))
        self._fewest = least_cost(self._counted, self._immovable, each)

    @property
    def movable(self) -> bool:
        """Whether any pod may move."""
        return bool(self._packing.kinds)

    def empty(self) -> None:
        """Make the quick start."""
        part_s = min(EMPTYING_S, EMPTYING_SHARE * self.budget.left_s())
        late = self.budget.part(part_s).over
        self._take(emptied(self._packing, self._others, self._costs, late))

    def choose(self) -> None:
        """Choose the nodes to empty anew where not all pods may move."""
        if not allowances_of(self._packing):
            return
        counted = within_limits(self._counted, self.budget.options.limits)
        share = CHOOSING_SHARE / 3 * self.budget.left_s()
        bound = least_cost_within(counted, self._immovable, self._costs, self.budget.for_solver(share))
        self._bound = max(self._bound, bound)
        if self._costs.unit_micros:
            each = Costs((1,) * len(self._costs.of))
            fewest = least_cost_within(counted, self._immovable, each, self.budget.for_solver(share))
            self._fewest = max(self._fewest, fewest)
        if ChosenNodes.variables(self._packing) > MOST_VARIABLES or self._proved():
            return
        program = ChosenNodes(self._packing, self._others, self._costs, self._assignment)
        program.choose(self.budget.for_solver(share))
        self._take(program.assignment)

    def fill_anew(self) -> Iterator[None]:
        """Have cheaper nodes hold other contents; yield whenever that is achieved.

        Pods stay where they are of which only some may move, or whose node is
        overcommitted; what is proved is of plans that move them too.
        """
        budget = self._part(FILLING_SHARE) if self._may_build() else self.budget
        same = self._counted is self._packing
        problem = self._problem if same else self._counted.problem
        nobody = np.zeros(len(problem.kind), np.bool_)
        diving = self._covering(problem, nobody, self._immovable, budget, outer=True)
        if diving is None:
            return
        diving.prove()
        self._bound = max(self._bound, diving.bound)
        stays = _stays(self._packing, self._problem)
        proves = same and diving.fleet.exact and not stays.any()
        if not proves:
            diving = self._covering(self._problem, stays, self._others, budget, outer=False)
        if diving is None:
            return
        diving.bound = self._bound
        for nodes in diving.assignments(self._cost(self._assignment)):
            if proves:
                self._bound = diving.bound
            if self._take(tuple(nodes.tolist())):
                yield
        if proves:
            self._bound = diving.bound

    def solve(self) -> None:
        """Find the best there is in time, unless it is known to be found."""
        if self._proved() or not self._may_build():
            return
        program = LeastCost(self._packing, self._others, self._costs, self._assignment)
        bound, moves, given = 0, 0, 0
        if self.budget.left_s() > SHORTEST_SOLVE_S:
            bound = program.least_cost(self._part(0.5), self._bound)
        if self.budget.left_s() > SHORTEST_SOLVE_S:
            given = self._cost(program.assignment)
            moves = program.fewest_moves(self._part(1))
        if self._counted is self._packing:
            self._bound = max(self._bound, bound)
            self._fewest_moves[given] = moves
        self._take(program.assignment)

    def _take(self, assignment: Assignment) -> bool:
        """Take ``assignment`` unless it breaks what ties pods to each other."""
        if not keeps_ties(self._packing, assignment):
            return False
        self._assignment = assignment
        return True

    def solution(self) -> Solution:
        """Return the best so far, empty unless it empties a node."""
        kept = Solution(self._packing, self._kept())
        writer = SolutionWriter(self.whole, self.budget.policy)
        solution = writer.write(kept.on(self.whole), trivial_bounds(self.whole))
        return replace(solution, nodes_in_use=self._in_use())

    def message(self) -> str:
        """Return what was reached."""
        in_use = self._in_use()
        best, least = "fewest", f"{in_use.lower_bound}"
        after, before = f"{in_use.after} nodes in use", f"{in_use.before}"
        if self._costs.unit_micros:
            best, least = "cheapest", as_price(in_use.price_lower_bound_micros)
            after += f" for {as_price(in_use.price_after_micros)} an hour"
            before += f" for {as_price(in_use.price_before_micros)}"
        proof = f"not proved {best}, at least {least}"
        if self._proved():
            proof = f"proved {best}, with fewest moves"
        elif self._bound == self._cost(self._kept()):
            proof = f"proved {best}, not with fewest moves"
        return f"{after}, {before} before: {proof}"

    def _kept(self) -> Assignment:
        """Return the best so far, or what there was if nothing is saved."""
        now = self._packing.current
        better = self._cost(self._assignment) < self._cost(now)
        return self._assignment if better else now

    def _in_use(self) -> NodesInUse:
        before = nodes_in_use(self._packing.current, self._others)
        after = nodes_in_use(self._kept(), self._others)
        cost, unit = self._costs.total(after), self._costs.unit_micros
        moves = fewest_moves(self._counted, self._immovable, self._costs, cost)
        # With cheaper nodes in use there are no fewer moves.
        known = [least for given, least in self._fewest_moves.items() if given >= cost]
        return NodesInUse(
            before=len(before),
            after=len(after),
            lower_bound=self._fewest if unit else self._bound,
            moves_lower_bound=max([moves, *known]),
            price_before_micros=unit * self._costs.total(before),
            price_after_micros=unit * cost,
            price_lower_bound_micros=unit * self._bound,
        )

    def _proved(self) -> bool:
        """Return whether no plan costs less, or as much with fewer moves."""
        least, kept = self._in_use().moves_lower_bound, self._kept()
        pairs = zip(self._packing.current, kept, strict=True)
        moves = sum(home != node for home, node in pairs)
        return (self._bound, least) == (self._cost(kept), moves)

    def _cost(self, assignment: Assignment) -> int:
        return self._costs.total(nodes_in_use(assignment, self._others))

    def _covering(
        self, problem: Problem, stays: Flags, in_use: frozenset[int], budget: TimeBudget, *, outer: bool
    ) -> DivingSearch | None:
        used = np.zeros(len(problem.room), np.bool_)
        used[list(in_use)] = True
        costs = np.array(self._costs.of, np.int64)
        fleet = make_fleet(problem, stays, used, costs, outer=outer)
        return None if fleet is None else DivingSearch(fleet, budget)

    def _may_build(self) -> bool:
        # Looking at each pod takes longer than that.
        if len(self._problem.demand) * len(self._problem.room) > MOST_VARIABLES:
            return False
        size = TiedFormulation.variables(self._packing, len(self._packing.tiers))
        return size <= min(MOST_VARIABLES, self.budget.left_s() * BUILT_PER_S)

    def _part(self, share: float) -> TimeBudget:
        return self.budget.for_solver(share * self.budget.left_s())


def _running(packing: Packing) -> Packing:
    """Return the problem of the pods that run."""
    running = [i for i, home in enumerate(packing.current) if home is not None]
    return restricted(packing, running, packing.current)


def as_price(micros: int) -> str:
    """Return a price, with as many decimals as it has."""
    return f"{micros / 10**6:,.6f}".rstrip("0").rstrip(".")


def _stays(packing: Packing, problem: Problem) -> Flags:
    """Return which items may not all be moved, shape ``(items,)``."""
    stays: Flags = np.any(overcommitted(problem), axis=1)[problem.home]
    for one in allowances_of(packing):
        stays[list(one.members)] = True
    return stays
