"""Emptying the dear nodes first, with an optimiser that only counts nodes.

A plan that empties most nodes may empty the cheap ones. So the optimiser is also asked
in rounds: first only nodes of a high price or more may be emptied, then, of what that
leaves, those of a lower one, and at last any. Of the plans after each round, and of the
one for the cluster as a whole, that is taken which saves most. That is a search, no
proof: how much more there may be is what `saving_bound` says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.whatif.emptying import saved_an_hour
from stowage_testbed.whatif.node_use import Costs, NodeUse
from stowage_testbed.whatif.proposing import Proposing

LEVELS = 4
"""Rounds before the last one; they share one time limit."""

CHEAPER = "cheaper node"


def dearest(
    proposing: Proposing, snapshot: pb.Snapshot, costs: Costs | None
) -> pb.SolveUpdate:
    """Return the answer that saves most, which the scheduler has not seen.

    Its ``nodes_in_use`` are those of the answer for the whole cluster, which that is
    without prices, and among equals.
    """
    whole = proposing.solved(snapshot, pb.OBJECTIVE_CONSOLIDATE)
    if costs is None:
        return whole
    use = NodeUse(snapshot)
    plans = [whole.plan, *_rounds(proposing, snapshot, use, costs)]
    best = max(plans, key=lambda one: (saved_an_hour(use, one, costs), -len(one.moves)))
    answer = pb.SolveUpdate(plan=best, refusals=whole.refusals)
    if whole.plan.HasField("nodes_in_use"):
        answer.plan.nodes_in_use.CopyFrom(whole.plan.nodes_in_use)
    return answer


def price_levels(use: NodeUse, costs: Costs) -> list[Decimal]:
    """Return the prices from which on nodes are emptied in turn, the dearest first.

    They are those of nodes that could be emptied, spread over all of these but the
    lowest, since the last round is for all nodes.
    """
    could_go = use.movable.keys() - use.stays.keys()
    paid = {costs.an_hour[node] for node in could_go if node in costs.an_hour}
    levels = sorted(paid, reverse=True)
    if could_go <= costs.an_hour.keys():
        levels = levels[:-1]
    if len(levels) <= LEVELS:
        return levels
    last = len(levels) - 1
    return [levels[round(k * last / (LEVELS - 1))] for k in range(LEVELS)]


def _rounds(
    proposing: Proposing, snapshot: pb.Snapshot, use: NodeUse, costs: Costs
) -> Iterator[pb.Plan]:
    """Yield a plan for the snapshot after each round."""
    levels = price_levels(use, costs)
    if not levels:
        return
    home = {pod.uid: pod.node for pod in snapshot.pods if pod.node}
    state, made = _copy(snapshot), 0
    rounds = [(level, False) for level in levels]
    for level, last in (*rounds, (min(costs.an_hour.values()), True)):
        answer = proposing.solved(
            _narrowed(state, level, costs, all_may_go=last),
            pb.OBJECTIVE_CONSOLIDATE,
            share=1 / (len(rounds) + 1),
            moves_made=made,
        )
        made += len(answer.plan.moves)
        _make(answer.plan, state)
        yield pb.Plan(
            snapshot_id=snapshot.id,
            moves=[
                pb.Move(pod_uid=pod.uid, from_node=home[pod.uid], to_node=pod.node)
                for pod in state.pods
                if pod.node and pod.node != home[pod.uid]
            ],
        )


def _narrowed(
    state: pb.Snapshot, level: Decimal, costs: Costs, *, all_may_go: bool
) -> pb.Snapshot:
    """Have only nodes of a price or more be emptied, and none filled that costs more.

    Whatever is then emptied is worth at least what is filled for it.
    """
    use, part = NodeUse(state), _copy(state)
    stay = {node for node in use.movable if costs.an_hour.get(node, -1) < level}
    closed = {
        node
        for node in use.names - use.in_use()
        if costs.an_hour.get(node, level + 1) > level
    }
    for pod in part.pods:
        if pod.movable and pod.node in stay and not all_may_go:
            pod.movable, pod.immovable_reason = False, CHEAPER
    for node in part.nodes:
        node.unschedulable = node.unschedulable or node.name in closed
    return part


def _make(plan: pb.Plan, state: pb.Snapshot) -> None:
    """Have the pods be where a plan puts them, and leave what it empties empty.

    Budgets lose all that was moved in their namespaces, more than they must.
    """
    before = NodeUse(state).in_use()
    goes = {move.pod_uid: move.to_node for move in plan.moves}
    moved = Counter[str]()
    for pod in state.pods:
        if pod.uid in goes:
            pod.node = goes[pod.uid]
            moved[pod.namespace] += 1
    for budget in state.disruption_budgets:
        left = budget.disruptions_allowed - moved[budget.namespace]
        budget.disruptions_allowed = max(0, left)
    emptied = before - NodeUse(state).in_use()
    for node in state.nodes:
        node.unschedulable = node.unschedulable or node.name in emptied


def _copy(snapshot: pb.Snapshot) -> pb.Snapshot:
    made = pb.Snapshot()
    made.CopyFrom(snapshot)
    return made
