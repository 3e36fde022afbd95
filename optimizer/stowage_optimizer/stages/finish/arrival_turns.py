"""In what order pods come to the devices that they ask for.

The scheduler gives each pod the first devices that serve it. So who has which device
follows from the order in which pods come to a node: each is given its turn, after all
pods that the plan takes off the node have gone. What comes to different nodes may come
at the same time. But a pod that moves is down until its target has its turn, so nodes
to which nobody moves from a node that still fills up come first.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from stowage_optimizer.assignments.device_order import members_by_node
from stowage_optimizer.assignments.solution_writer import SolutionWriter
from stowage_optimizer.bounds.proofs import trivial_bounds
from stowage_optimizer.model.packing import as_nodes
from stowage_optimizer.model.problem import NOWHERE
from stowage_optimizer.model.solution import Publish, Solution, Turn
from stowage_optimizer.model.time_budget import TimeBudget
from stowage_optimizer.search.device_nodes import arranger_of
from stowage_optimizer.stages.stage import Stage


@dataclass(frozen=True, slots=True)
class GiveTurns(Stage):
    """Whoever comes for devices is given a turn; the last stage, since any change may need other turns."""

    def improve(self, known: Solution, budget: TimeBudget, publish: Publish) -> Solution:
        """Return ``known`` with turns; without any change if there is no order for it."""
        del publish
        turned = with_turns(known)
        if turned is not None:
            return turned
        packing = known.packing
        writer = SolutionWriter(packing, budget.policy)
        return writer.write(packing.current, trivial_bounds(packing), "no order was found in which pods get devices")

    def pass_on(self, found: Solution, budget: TimeBudget) -> Solution | None:
        """Return ``found`` with turns, if there are any."""
        del budget
        return with_turns(found)


def with_turns(solution: Solution) -> Solution | None:
    """Return ``solution`` with a turn for everybody who comes for devices; None if no order is known."""
    packing, assignment = solution.packing, solution.assignment
    arranger = arranger_of(packing.problem)
    if arranger is None:
        return solution
    members = members_by_node(packing, assignment, range(len(assignment)))
    # Where all stay nobody has a turn: that is on nearly all nodes.
    members = {node: here for node, here in members.items() if any(packing.current[item] != node for item in here)}
    turns: dict[int, Turn] = {}
    for node in _sinks_first(solution, members):
        arrivals = arranger.arrivals(node, members[node])
        if arrivals is None:
            return None
        for item, devices in arrivals:
            turns[item] = Turn(len(turns) + 1, devices)
    return replace(solution, turns=turns)


def _sinks_first(solution: Solution, nodes: Iterable[int]) -> Iterator[int]:
    """Yield ``nodes``, each after those to which pods move from it, as far as they move in no circle."""
    home, after = solution.packing.home, as_nodes(solution.assignment)
    targets: dict[int, dict[int, None]] = {}
    for item in np.flatnonzero((home != NOWHERE) & (after != NOWHERE) & (home != after)).tolist():
        targets.setdefault(int(home[item]), {})[int(after[item])] = None
    wanted, seen = set(nodes), set()
    for first in sorted(wanted):
        if first in seen:
            continue
        seen.add(first)
        path = [(first, iter(targets.get(first, ())))]
        while path:
            node, rest = path[-1]
            target = next((one for one in rest if one not in seen), None)
            if target is not None:
                seen.add(target)
                path.append((target, iter(targets.get(target, ()))))
                continue
            path.pop()
            if node in wanted:
                yield node
