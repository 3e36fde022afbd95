"""Which nodes to empty where only so many pods may move, as integer programs.

The first is about plans that move the pods of the nodes that they empty, and no others:
which nodes, and how many pods of each kind go to each node that stays. The second is
about any plan: what it empties must fit into the rest, by the sums over all nodes.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.problem import Ints, Problem
from stowage_optimizer.model.tie import Values
from stowage_optimizer.model.time_budget import TimeBudget
from stowage_optimizer.programs.program import LinearProgram
from stowage_optimizer.search.search_arrays import load_of
from stowage_optimizer.stages.consolidate.least_cost import EXACT
from stowage_optimizer.stages.consolidate.node_costs import Costs, nodes_in_use
from stowage_optimizer.ties.disruptions import Disrupted, allowances_of


def nodes_to_empty(packing: Packing, others: frozenset[int], costs: Costs) -> dict[int, list[int]]:
    """Return the items of each node that is worth emptying."""
    items: defaultdict[int, list[int]] = defaultdict(list)
    for item, node in enumerate(packing.current):
        if node is not None and node not in others and costs.of[node]:
            items[node].append(item)
    return dict(items)


def least_cost_within(packing: Packing, others: frozenset[int], costs: Costs, budget: TimeBudget) -> int:
    """Return a cost of the nodes in use that no plan within the allowances goes below.

    All pods of a node that is emptied move. A node that is overcommitted may stay so.
    """
    if sum(costs.of) >= EXACT:
        return 0
    items = nodes_to_empty(packing, others, costs)
    used = nodes_in_use(packing.current, others)
    loads = load_of(packing.problem, np.ones(len(packing.current), np.bool_))
    most = np.maximum(packing.problem.room, loads)
    program = LinearProgram()
    emptied = {node: program.variable() for node in sorted(items)}
    opened = {
        node: program.variable()
        for node in range(len(most))
        if node not in used and costs.of[node] and (most[node] > 0).any()
    }
    spare = most[sorted(used)].sum(axis=0) - loads.sum(axis=0)
    for dimension, left in enumerate(spare.tolist()):
        terms = [(at, int(most[node, dimension])) for node, at in emptied.items()]
        terms += [(at, -int(most[node, dimension])) for node, at in opened.items()]
        program.at_most(terms, left)
    _keep_allowances(program, packing, emptied)
    metric = [(at, costs.of[node]) for node, at in emptied.items()]
    metric += [(at, -costs.of[node]) for node, at in opened.items()]
    start = [0] * len(program.upper)
    bound = program.maximise(metric, start, budget, offer=lambda _: None).bound
    return 0 if bound is None else costs.total(used) - bound


def _kinds_of(problem: Problem) -> tuple[Ints, Ints]:
    """Return demand and mask of each kind of running pods, and the kind by item."""
    asked = np.column_stack([problem.demand, problem.mask])[problem.kind]
    kinds, kind_of = np.unique(asked, axis=0, return_inverse=True)
    return kinds, kind_of


def _keep_allowances(program: LinearProgram, packing: Packing, emptied: Mapping[int, int]) -> None:
    """Keep what all pods of emptied nodes take within each allowance."""
    for one in allowances_of(packing):
        if one.counts is Disrupted.EVICTIONS:
            continue
        members = Counter(packing.home[list(one.members)].tolist())
        terms = [(at, members[node]) for node, at in emptied.items() if members[node]]
        if sum(count for _, count in terms) > one.most:
            program.at_most(terms, one.most)


@dataclass(slots=True)
class ChosenNodes:
    """The program of plans that move the pods of emptied nodes only.

    Relations between pods are not in it. A packing whose pods all run.

    Attributes
    ----------
    assignment
        The best that is known; it is where the solver starts.
    """

    packing: Packing
    others: frozenset[int]
    costs: Costs
    assignment: Assignment
    _program: LinearProgram = field(init=False, default_factory=LinearProgram)
    _kind: Ints = field(init=False)
    _items: dict[int, list[int]] = field(init=False)
    _emptied: dict[int, int] = field(init=False)
    _come: dict[tuple[int, int], int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        problem = self.packing.problem
        kinds, self._kind = _kinds_of(problem)
        self._items = nodes_to_empty(self.packing, self.others, self.costs)
        self._emptied = {node: self._program.variable() for node in sorted(self._items)}
        loads = load_of(problem, np.ones(len(self.packing.current), np.bool_))
        free = problem.room - loads
        count = np.bincount(self._kind, minlength=len(kinds))
        for node in sorted(nodes_in_use(self.packing.current, self.others)):
            self._add_receiver(node, kinds, count, free[node])
        self._add_kinds(len(kinds))
        _keep_allowances(self._program, self.packing, self._emptied)

    @staticmethod
    def variables(packing: Packing) -> int:
        """Return about how many variables the program will have, without making it."""
        kinds, _ = _kinds_of(packing.problem)
        return (len(kinds) + 1) * len(packing.room)

    def choose(self, budget: TimeBudget) -> None:
        """Empty the nodes that cost most, and of equal ones those with fewest pods."""
        costs, pods = self.costs.of, len(self.packing.current)
        weight = pods + 1 if sum(costs) * (pods + 1) < EXACT else 1
        metric = [(at, weight * costs[node] - len(self._items[node])) for node, at in self._emptied.items()]
        self._program.maximise(metric, self._values(self.assignment), budget, self._take)

    def _add_receiver(self, node: int, kinds: Ints, count: Ints, free: Ints) -> None:
        """Add how many of each kind may come to a node, unless it is emptied."""
        emptied = self._emptied.get(node)
        room = np.maximum(0, free)
        rows: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for kind, (*demand, mask) in enumerate(kinds.tolist()):
            asking = [d for d, amount in enumerate(demand) if amount]
            fitting = [int(room[d]) // demand[d] for d in asking]
            most = min([int(count[kind]), *fitting])
            if most < 1 or not self.packing.problem.allowed[mask, node]:
                continue
            come = self._come[node, kind] = self._program.variable(most)
            for dimension in asking:
                rows[dimension].append((come, demand[dimension]))
            if emptied is not None:
                self._program.at_most([(come, 1), (emptied, most)], most)
        for dimension, terms in rows.items():
            limit = int(room[dimension])
            if emptied is not None:
                self._program.at_most([*terms, (emptied, limit)], limit)
            elif sum(self._program.upper[at] * each for at, each in terms) > limit:
                self._program.at_most(terms, limit)

    def _add_kinds(self, kinds: int) -> None:
        """Have as many of each kind come as leave."""
        sums: list[list[tuple[int, int]]] = [[] for _ in range(kinds)]
        for (_, kind), come in self._come.items():
            sums[kind].append((come, 1))
        for node, items in self._items.items():
            for kind, count in enumerate(np.bincount(self._kind[items]).tolist()):
                if count:
                    sums[kind].append((self._emptied[node], -count))
        for terms in sums:
            if terms:
                self._program.between(terms, 0, 0)

    def _values(self, assignment: Assignment) -> list[int]:
        """Return the values that stand for ``assignment``, as far as any do."""
        values, used = [0] * len(self._program.upper), set(assignment)
        for node, at in self._emptied.items():
            values[at] = int(node not in used)
        for item, home in enumerate(self.packing.current):
            target = assignment[item]
            if target is not None and target != home:
                come = self._come.get((target, int(self._kind[item])))
                if come is not None:
                    values[come] += 1
        return values

    def _take(self, values: Values) -> None:
        places: defaultdict[int, list[int]] = defaultdict(list)
        for (node, kind), come in self._come.items():
            places[kind] += [node] * values[come]
        free = {kind: iter(nodes) for kind, nodes in places.items()}
        found = list(self.packing.current)
        for node, at in self._emptied.items():
            if values[at]:
                for item in self._items[node]:
                    found[item] = next(free[int(self._kind[item])])
        self.assignment = tuple(found)
