"""What a plan that empties nodes comes to: in nodes, in moves and in money."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.prices import HOURS_A_MONTH
from stowage_testbed.whatif.findings import (
    Emptied,
    Emptying,
    KeptInUse,
    Move,
    NotJudged,
    Savings,
)
from stowage_testbed.whatif.node_use import Costs, NodeUse
from stowage_testbed.whatif.saving_bound import most_saved

NO_COSTS = Costs("", {})


def emptying_by(
    snapshot: pb.Snapshot,
    use: NodeUse,
    plan: pb.Plan,
    fewest: int,
    costs: Costs | None,
    *,
    not_judged: Iterable[NotJudged] = (),
) -> Emptying:
    """Return what a plan empties.

    Parameters
    ----------
    fewest
        Proved limit on how few nodes are in use after any plan.
    costs
        ``None`` where nobody asks for prices.
    """
    before, after = use.in_use(), use.in_use_after(plan)
    known = costs or NO_COSTS

    def each(nodes: Iterable[str]) -> tuple[Emptied, ...]:
        found = (
            Emptied(name, use.movable[name], known.an_hour.get(name)) for name in nodes
        )
        return tuple(sorted(found, key=_dearest_first))

    emptied = each(before - after)
    return Emptying(
        in_use=len(before),
        in_use_after=len(after),
        fewest=fewest,
        idle=each(use.names - before),
        emptied=emptied,
        filled=each(after - before),
        moves=_moves(snapshot, plan, [one.node for one in emptied]),
        kept=_kept(use, known),
        pending=sum(not pod.node for pod in snapshot.pods),
        savings=_savings(snapshot, use, plan, fewest, costs) if costs else None,
        not_judged=tuple(dict.fromkeys(not_judged)),
    )


def saved_an_hour(use: NodeUse, plan: pb.Plan, costs: Costs) -> Decimal:
    """Return what the nodes in use cost less after a plan than before."""
    return costs.sum(use.in_use()) - costs.sum(use.in_use_after(plan))


def _savings(
    snapshot: pb.Snapshot, use: NodeUse, plan: pb.Plan, fewest: int, costs: Costs
) -> Savings:
    saved = saved_an_hour(use, plan, costs)
    return Savings(
        currency=costs.currency,
        spent_an_hour=costs.sum(use.names),
        idle_an_hour=costs.sum(use.names - use.in_use()),
        saved_an_hour=saved,
        saved_a_month=saved * HOURS_A_MONTH,
        at_most_an_hour=most_saved(snapshot, use, costs, fewest),
        without_price=tuple(sorted(costs.without.items())),
    )


def _dearest_first(one: Emptied) -> tuple[Decimal, str]:
    return -(one.an_hour or Decimal()), one.node


def _moves(
    snapshot: pb.Snapshot, plan: pb.Plan, emptied: Sequence[str]
) -> tuple[Move, ...]:
    names = {pod.uid: f"{pod.namespace}/{pod.name}" for pod in snapshot.pods}
    turn = {node: number for number, node in enumerate(emptied)}
    found = (Move(names[one.pod_uid], one.from_node, one.to_node) for one in plan.moves)
    return tuple(
        sorted(found, key=lambda one: (turn.get(one.from_node, len(turn)), one.pod))
    )


def _kept(use: NodeUse, costs: Costs) -> tuple[KeptInUse, ...]:
    nodes = dict[str, list[str]]()
    examples = dict[str, str]()
    for node in sorted(use.stays):
        for rule, pod in use.stays[node].items():
            nodes.setdefault(rule, []).append(node)
            examples.setdefault(rule, pod)
    found = (
        KeptInUse(rule, len(some), costs.sum(some), examples[rule])
        for rule, some in nodes.items()
    )
    return tuple(sorted(found, key=lambda one: (-one.nodes, one.rule)))
