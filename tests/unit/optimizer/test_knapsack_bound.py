"""The knapsack's limit where it is known by hand."""

from __future__ import annotations

from stowage_optimizer.bounds import Phase, Question, knapsack_bound
from stowage_optimizer.model.certificate import ProofMethod
from stowage_optimizer.model.objective import TierScore
from stowage_optimizer.model.packing import Item, Packing
from stowage_optimizer.search.problem import make_problem


def _packing(*, room: int, nodes: int, demand: int, items: int) -> Packing:
    everywhere = tuple(range(nodes))
    return Packing(
        node_names=tuple(f"n{index}" for index in everywhere),
        room=((room, 100),) * nodes,
        items=tuple(
            Item(f"p{index}", 0, (demand, 1), everywhere, None)
            for index in range(items)
        ),
        tiers=(0,),
        refusals=(),
    )


def _limit(packing: Packing, *, deadline: float = 1.0) -> int:
    question = Question(make_problem(packing), 0, Phase.PLACE, (TierScore(0, 0, 0),))
    bound = knapsack_bound(question, clock=lambda: 0.5, deadline=deadline)
    assert bound is not None
    assert bound.method is ProofMethod.KNAPSACK
    return bound.value


def test_what_fills_the_nodes_exactly_is_not_cut_off() -> None:
    """Weights are rounded: a limit that errs must do so upwards."""
    assert _limit(_packing(room=9, nodes=7, demand=3, items=30)) == 21


def test_the_scarce_resource_decides() -> None:
    """Shifting weight to the binding dimension is what makes the limit sharp."""
    assert _limit(_packing(room=10, nodes=2, demand=5, items=30)) == 4


def test_a_limit_is_there_even_when_time_is_over() -> None:
    """The first limit costs one sort; callers rely on having one."""
    assert _limit(_packing(room=10, nodes=2, demand=5, items=30), deadline=0.0) <= 30


def test_amounts_beyond_what_doubles_hold_stay_safe() -> None:
    """Bytes that no unit divides reach 2^55: the limit must not drop below truth."""
    huge = 2**55 + 1

    assert _limit(_packing(room=3 * huge, nodes=2, demand=huge, items=9)) >= 6
