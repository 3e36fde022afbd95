"""`boreas`: batches of pending pods, each placed whole or not at all.

After "Boreas - A Service Scheduler for Optimal Kubernetes Deployment" (Lebesbye,
Mauro, Turin, Yu): the pending pods of a batch are placed together, on as few nodes as
possible, or all of them stay pending; what they demand of each other is kept. Running
pods stay where they are, and priorities do not count. The paper solves with Zephyrus2
on OR-Tools; this with OR-Tools.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from stowage_optimizer.assignments.first_fit import filled
from stowage_optimizer.assignments.solution_writer import SolutionWriter
from stowage_optimizer.assignments.subproblem import restricted
from stowage_optimizer.bounds.phase import Phase
from stowage_optimizer.bounds.proofs import trivial_bounds
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.solution import Publish, Solution
from stowage_optimizer.model.tie import Terms, Values, keeps_ties
from stowage_optimizer.model.time_budget import TimeBudget
from stowage_optimizer.programs.tied import TiedFormulation

BATCH_PODS = 99
"""Pods in a batch, at the most; the paper's default (section 3)."""


@dataclass(frozen=True, slots=True)
class Boreas:
    """All or nothing, batch by batch, in the snapshot's order."""

    batch_pods: int = BATCH_PODS
    is_self_contained: ClassVar[bool] = True

    def solve(self, packing: Packing, budget: TimeBudget, publish: Publish) -> Solution:
        """Return every batch that fits placed; see `Strategy.solve`."""
        writer = SolutionWriter(packing, budget.policy)
        assignment, bounds = packing.current, trivial_bounds(packing)
        solution = writer.write(assignment, bounds)
        publish(solution)
        batches = list(self._batches(packing))
        for done, members in enumerate(batches):
            share_s = budget.left_s() / (len(batches) - done)
            part = budget.for_solver(share_s)
            placed = _place(packing, assignment, members, part)
            if placed != assignment:
                assignment, solution = placed, writer.write(placed, bounds)
                publish(solution)
        return solution

    def _batches(self, packing: Packing) -> Iterator[Sequence[int]]:
        pending = [i for i, home in enumerate(packing.current) if home is None]
        for begin in range(0, len(pending), self.batch_pods):
            yield pending[begin : begin + self.batch_pods]


class _Best:
    """The best placement of a batch so far; pods are placed so that all is kept."""

    def __init__(self, batch: Packing) -> None:
        self.batch = batch
        self.assignment = batch.current
        self.take(filled(batch, batch.current))

    @property
    def whole(self) -> bool:
        """Whether every pod of the batch has a node."""
        return None not in self.assignment

    def take(self, candidate: Assignment) -> None:
        """Take a placement that the solver found after the last one.

        What pods demand of those that come before them is in the program in part only.
        """
        if keeps_ties(self.batch, candidate):
            self.assignment = candidate


def _place(packing: Packing, assignment: Assignment, members: Sequence[int], budget: TimeBudget) -> Assignment:
    """Return ``assignment`` with every pod of the batch placed, or as it was."""
    best = _Best(restricted(packing, members, assignment))
    half = replace(budget, limit_s=budget.limit_s / 2)
    if not best.whole:
        _solve(best, half, whole=False)
    if not best.whole:
        return assignment
    _solve(best, half, whole=True)
    placed = list(assignment)
    for item, node in zip(members, best.assignment, strict=True):
        placed[item] = node
    return tuple(placed) if keeps_ties(packing, tuple(placed)) else assignment


def _solve(best: _Best, budget: TimeBudget, *, whole: bool) -> None:
    """Place as many as possible; or, once all are, use as few nodes as possible."""
    formulation = TiedFormulation(best.batch, len(best.batch.tiers))
    placed = formulation.metric(Phase.PLACE, len(best.batch.tiers) - 1)
    start = list(formulation.values(best.assignment))
    metric: Terms = placed
    if whole:
        every = best.batch.worth
        formulation.program.between(placed, every, every)
        used = formulation.used_nodes()
        metric = [(variable, -1) for variable in used.values()]
        taken = set(best.assignment)
        start += [int(node in taken) for node in used]

    def take(values: Values) -> None:
        best.take(formulation.read(values, best.assignment))

    formulation.program.maximise(metric, start, budget, offer=take)
