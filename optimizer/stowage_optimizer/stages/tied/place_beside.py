"""Placing pods with relations, next to a plan for all other pods.

Where there is no time to move pods with affinity, spread, or anti-affinity that is no
capacity, strategies leave them out. Waiting ones are placed where relations and room
allow, and no pod moves for them. This takes little time, also where there are many
pods. Since pods were left out that might move, only what is plain to see counts as
proved.
"""

from dataclasses import dataclass, replace

from stowage_optimizer.assignments.first_fit import filled
from stowage_optimizer.assignments.repair import repair_ties
from stowage_optimizer.assignments.solution_writer import SolutionWriter
from stowage_optimizer.bounds.proofs import trivial_bounds
from stowage_optimizer.model.objective import score
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.solution import GainPoint, Publish, Solution
from stowage_optimizer.model.time_budget import Reserve, TimeBudget
from stowage_optimizer.stages.stage import Stage, run_stages

SETTLING = Reserve(pods_per_s=15_000, least_share=0.1, most_share=0.5)
"""For going through the pods: 40,000 of them on 5,000 nodes took 2.2 s beside other
work on 2 cores. Where it takes too much of the limit, pods are left waiting."""


@dataclass(frozen=True, slots=True)
class PlaceBeside(Stage):
    """In a hurry pods with demands are placed beside a plan for all others.

    Parameters
    ----------
    stages
        Find the plan of the others.
    packing
        The problem with all pods.
    """

    stages: tuple[Stage, ...]
    packing: Packing

    def improve(self, known: Solution, budget: TimeBudget, publish: Publish) -> Solution:
        """Return the plan of the others, with more pods placed where that is better."""
        related, policy = self.packing, budget.policy
        pods = related.snapshot.pods

        def look(found: Solution) -> None:
            publish(unproved(found, related, policy))

        waits = any(related.snapshot.classes[class_id].demanding for class_id in pods.waiting_classes)
        if not (waits and SETTLING.suffices(budget, len(pods))):
            found = run_stages(self.stages, known, budget, look)
            return unproved(found, related, policy)
        began = budget.clock()
        floor = as_it_is(related, budget)
        publish(floor)
        settling_s = SETTLING.of(budget.limit_s, len(pods))
        settling_s = max(settling_s, budget.clock() - began)
        if budget.left_s() < settling_s:
            return floor
        found = run_stages(self.stages, known, budget.without(settling_s), look)
        settled = better(floor, placed(found, related, budget), policy)
        publish(settled)
        return replace(settled, message=found.message)


def as_it_is(packing: Packing, budget: TimeBudget) -> Solution:
    """Return what finds room without a move: no answer is worse than that."""
    settled = repair_ties(packing, filled(packing, packing.current), budget)
    nothing = Solution(packing, packing.current, refusals=packing.refusals)
    return _written(nothing, packing, settled, budget.policy)


def unproved(solution: Solution, packing: Packing, policy: Policy) -> Solution:
    """Return ``solution``, which left pods out, as one of ``packing`` with them."""
    return _written(solution, packing, solution.on(packing), policy)


def placed(solution: Solution, packing: Packing, budget: TimeBudget) -> Solution:
    """Return ``solution`` with more pods placed, if there are any that may be."""
    wanted = solution.on(packing)
    settled = repair_ties(packing, wanted, budget)
    if not _only_adds(wanted, settled):
        settled = wanted
    return _written(solution, packing, settled, budget.policy)


def better(one: Solution, other: Solution, policy: Policy) -> Solution:
    """Return the better one of two solutions of a packing, the first if equal."""
    values = [score(found.packing, found.assignment, policy) for found in (one, other)]
    return other if values[1] > values[0] else one


def _only_adds(wanted: Assignment, settled: Assignment) -> bool:
    """Return whether ``settled`` leaves all pods as wanted that have a node there."""
    return all(one is None or one == other for one, other in zip(wanted, settled, strict=True))


def _written(solution: Solution, packing: Packing, assignment: Assignment, policy: Policy) -> Solution:
    """Return ``solution`` with ``assignment``, claiming what is plain to see."""
    more = SolutionWriter(packing, policy).write(assignment, trivial_bounds(packing))
    curve = solution.gain_by_moves
    if curve:
        whole = GainPoint(curve[-1].moves, more.tiers[-1].placed)
        curve = (*(one for one in curve[:-1] if one.placed < whole.placed), whole)
    return replace(solution, packing=packing, assignment=assignment, tiers=more.tiers, gain_by_moves=curve)
