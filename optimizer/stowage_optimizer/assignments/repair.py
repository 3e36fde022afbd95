"""Repairing an assignment: no needless moves, no displaced pods for whom there is room, no broken ties.

The solver may stop with an answer that leaves a running pod unplaced although it
fits, or moves one that could have stayed. Tier by tier from the highest, pods get the
node they are wanted on, running pods without one get any node with room, and moved
pods go home if they can. Going home frees room, so this repeats until nothing changes;
each round is better by the objective, so it ends.

Under the `STRICT` policy running pods look for room before the pending pods of their
tier are placed. So a pod that is left unplaced in the end would not fit anywhere even
without the newly placed pods of its own priority and all pods below: the rule that the
checker holds plans to.
"""

from collections.abc import Sequence

from stowage_optimizer.assignments.builder import AssignmentBuilder
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.tie import keeps_ties
from stowage_optimizer.model.time_budget import TimeBudget

ROUNDS = 5
"""Rounds of repairs that may undo each other."""


def repair_with_ties(packing: Packing, wanted: Assignment, budget: TimeBudget) -> Assignment:
    """Return ``wanted`` with moves, displaced pods and ties repaired; or ties alone, if the repairs undo each other."""
    kept = repaired = repair(packing, wanted, budget.policy)
    for _ in range(ROUNDS):
        kept = repair_ties(packing, repaired, budget)
        if kept == repaired:
            break
        repaired = repair(packing, kept, budget.policy)
    return kept


def repair_ties(packing: Packing, wanted: Assignment, budget: TimeBudget) -> Assignment:
    """Return ``wanted`` with every tie repaired; the present state if the repair of one goes on breaking another."""
    for _ in range(ROUNDS):
        for tie in packing.ties:
            wanted = tie.repaired(packing, wanted, budget)
        if len(packing.ties) <= 1 or packing.divisible or keeps_ties(packing, wanted):
            return wanted
    return packing.current


def repair(packing: Packing, wanted: Assignment, policy: Policy) -> Assignment:
    """Return ``wanted`` with running pods put back, or home, where they fit.

    Parameters
    ----------
    wanted
        The assignment to start from; where pods of different tiers clash, those of
        the higher tier win.
    policy
        Whether a running pod may push out a pending one of its own priority.
    """
    while (repaired := _one_round(packing, wanted, policy)) != wanted:
        wanted = repaired
    return wanted


def _one_round(packing: Packing, wanted: Assignment, policy: Policy) -> Assignment:
    builder = AssignmentBuilder(packing)
    for tier in packing.tiers:
        members = [index for index, kind in enumerate(packing.kind_of) if kind.priority == tier]
        running = [i for i in members if packing.current[i] is not None]
        pending = [i for i in members if packing.current[i] is None]
        _put_where_wanted(builder, wanted, running)
        if policy is Policy.STRICT:
            _put_anywhere(packing, builder, running)
            _put_where_wanted(builder, wanted, pending)
        else:
            _put_where_wanted(builder, wanted, pending)
            _put_anywhere(packing, builder, running)
        _send_home(packing, builder, running)
    return builder.assignment


def _put_where_wanted(builder: AssignmentBuilder, wanted: Assignment, members: Sequence[int]) -> None:
    for item in members:
        node = wanted[item]
        if node is not None and builder.fits(item, node):
            builder.put(item, node)


def _put_anywhere(packing: Packing, builder: AssignmentBuilder, members: Sequence[int]) -> None:
    # Large pods first: small ones find room more easily.
    for item in sorted(members, key=lambda i: packing.kind_of[i].demand, reverse=True):
        if builder.node_of(item) is None:
            home = packing.current[item]
            nodes = packing.kind_of[item].eligible
            for node in sorted(nodes, key=lambda node: node != home):
                if builder.fits(item, node):
                    builder.put(item, node)
                    break


def _send_home(packing: Packing, builder: AssignmentBuilder, members: Sequence[int]) -> None:
    for item in members:
        home, node = packing.current[item], builder.node_of(item)
        if node is None or home is None or node == home:
            continue
        builder.take(item)
        builder.put(item, home if builder.fits(item, home) else node)
