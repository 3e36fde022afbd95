"""Nodes that a plan empties: counted, priced, and no more than the proved limit."""

from __future__ import annotations

from decimal import Decimal
from itertools import product
from random import Random

import pytest
from priced_nodes import CORE, costs, snapshot_of

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.whatif.emptying import emptying_by
from stowage_testbed.whatif.findings import Emptied, KeptInUse, Move
from stowage_testbed.whatif.node_use import Costs, NodeUse
from stowage_testbed.whatif.price_levels import price_levels
from stowage_testbed.whatif.saving_bound import most_saved

FOUR = snapshot_of(
    (4, 4, 4, 4),
    [(1, "n0", ""), (1, "n1", ""), (1, "n1", "daemonset"), (1, "n2", "singleton"),
     (1, "n3", "daemonset"), (2, "", "")],
)  # fmt: skip
"""n3 is empty, n2 must stay, and the pods of n0 and n1 would fit there."""

BOTH = pb.Plan(
    moves=[
        pb.Move(pod_uid="p0", from_node="n0", to_node="n2"),
        pb.Move(pod_uid="p1", from_node="n1", to_node="n2"),
    ]
)


def test_a_node_with_nothing_but_daemonsets_is_empty_and_saves_its_price() -> None:
    """Their pods go with the node; nobody would miss it."""
    found = emptying_by(FOUR, NodeUse(FOUR), BOTH, 1, costs("1", "2.5", "4", "8"))

    assert (found.nodes, found.in_use, found.in_use_after, found.fewest) == (4, 3, 1, 1)
    assert found.idle == (Emptied("n3", 0, Decimal(8)),)
    assert found.emptied == (
        Emptied("n1", 1, Decimal("2.5")),
        Emptied("n0", 1, Decimal(1)),
    )
    assert found.moves == (Move("ns/p1", "n1", "n2"), Move("ns/p0", "n0", "n2"))
    assert found.kept == (KeptInUse("singleton", 1, Decimal(4), "ns/p3"),)
    assert found.pending == 1
    saved = found.savings
    assert saved is not None
    assert saved.spent_an_hour == Decimal("15.5")
    assert saved.idle_an_hour == 8
    assert saved.saved_an_hour == saved.at_most_an_hour == Decimal("3.5")
    assert saved.saved_a_month == Decimal(2555)


def test_nodes_without_a_price_are_named_and_never_free() -> None:
    """A saving that is nothing would read like a node that costs nothing."""
    found = emptying_by(FOUR, NodeUse(FOUR), BOTH, 1, costs("1", "", "4", "8"))

    assert found.emptied[1] == Emptied("n1", 1, None)
    assert found.savings is not None
    assert found.savings.without_price == (("n1", "no label"),)
    assert found.savings.saved_an_hour == found.savings.at_most_an_hour == 1


def test_what_is_filled_costs_what_it_costs() -> None:
    """Two cheap nodes that are emptied into a dear one save nothing."""
    whole = snapshot_of((1, 1, 2), [(1, "n0", ""), (1, "n1", "")])
    plan = pb.Plan(
        moves=[
            pb.Move(pod_uid=f"p{k}", from_node=f"n{k}", to_node="n2") for k in (0, 1)
        ]
    )

    found = emptying_by(whole, NodeUse(whole), plan, 1, costs("1", "1", "5"))

    assert [one.node for one in found.filled] == ["n2"]
    assert found.savings is not None
    assert found.savings.saved_an_hour == -3
    assert found.savings.at_most_an_hour == 0


def _best_by_trying(whole: pb.Snapshot, priced: Costs) -> tuple[Decimal, int]:
    """Return the most that any assignment saves, and the fewest nodes in use."""
    use = NodeUse(whole)
    room = {node.name: node.allocatable.cpu_milli for node in whole.nodes}
    movable = [pod for pod in whole.pods if pod.movable]
    for pod in whole.pods:
        if pod.node and not pod.movable:
            room[pod.node] -= int(pod.class_id) * CORE
    best, fewest = Decimal(), len(use.in_use())
    for targets in product(room, repeat=len(movable)):
        left = dict(room)
        for pod, node in zip(movable, targets, strict=True):
            left[node] -= int(pod.class_id) * CORE
        if min(left.values()) < 0:
            continue
        after = {*targets, *use.stays}
        saved = priced.sum(use.in_use()) - priced.sum(after)
        best, fewest = max(best, saved), min(fewest, len(after))
    return best, fewest


@pytest.mark.parametrize("seed", range(25))
def test_no_plan_saves_more_than_the_limit(seed: int) -> None:
    """Every assignment of small clusters is tried; a limit may be loose, not wrong."""
    random = Random(seed)  # noqa: S311 - no secret
    rules = ["", "", "", "singleton", "daemonset"]
    names = [f"n{k}" for k in range(4)]
    pods = [
        (random.randint(1, 2), random.choice(names), random.choice(rules))
        for _ in range(5)
    ]
    held = {name: sum(pod[0] for pod in pods if pod[1] == name) for name in names}
    whole = snapshot_of([max(held[name], random.randint(2, 6)) for name in names], pods)
    priced = costs(*(random.choice(["0.1", "0.25", "3", "7.77", ""]) for _ in names))

    best, fewest = _best_by_trying(whole, priced)

    assert most_saved(whole, NodeUse(whole), priced, 0) >= best
    assert most_saved(whole, NodeUse(whole), priced, fewest) >= best


def test_the_limit_is_exact_where_room_or_number_decides() -> None:
    """A limit that is never reached never tells anybody to stop looking."""
    same = snapshot_of((4,) * 6, [(1, f"n{k}", "") for k in range(6)])
    priced = costs(*["0.192"] * 6)

    assert most_saved(same, NodeUse(same), priced, 2) == Decimal("0.192") * 4
    assert most_saved(same, NodeUse(same), priced, 3) == Decimal("0.192") * 3


def test_few_prices_are_tried_and_the_cheapest_is_the_whole_cluster() -> None:
    """Each costs a solve; nodes that must stay are no reason for one."""
    whole = snapshot_of(
        (4,) * 9, [(1, f"n{k}", "singleton" * (k == 8)) for k in range(9)]
    )
    use = NodeUse(whole)

    assert not price_levels(use, costs(*["1"] * 8, "9"))
    assert price_levels(use, costs("1", "2", *["3"] * 6, "9")) == [
        Decimal(3),
        Decimal(2),
    ]
    assert price_levels(use, costs("", *["3"] * 8)) == [Decimal(3)]
    assert price_levels(use, costs(*"12345678", "9")) == list(map(Decimal, "8642"))
