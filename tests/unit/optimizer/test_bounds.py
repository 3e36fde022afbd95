"""Limits that hold whatever is found."""

from __future__ import annotations

import numpy as np
import pytest
from ortools.sat.python import cp_model

from stowage_optimizer.bounds.groups import mixes_of
from stowage_optimizer.bounds.knapsack import knapsack_bound
from stowage_optimizer.bounds.pricing import best_patterns
from stowage_optimizer.bounds.question import Phase, Question
from stowage_optimizer.model.certificate import ProofMethod
from stowage_optimizer.model.objective import TierScore
from stowage_optimizer.model.packing import Item, Packing, packing_of
from stowage_optimizer.model.problem import Indices, Ints


def _packing(*, room: int, nodes: int, demand: int, items: int) -> Packing:
    everywhere = tuple(range(nodes))
    return packing_of(
        node_names=tuple(f"n{index}" for index in everywhere),
        room=((room, 100),) * nodes,
        items=tuple(Item(f"p{index}", 0, (demand, 1), everywhere, None) for index in range(items)),
        tiers=(0,),
    )


def _limit(packing: Packing, *, deadline: float = 1.0) -> int:
    question = Question(packing.problem, 0, Phase.PLACE, (TierScore(0, 0, 0),))
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


def test_amounts_beyond_what_doubles_hold_stay_safe() -> None:
    """Bytes that no unit divides reach 2^55: the limit must not drop below truth."""
    huge = 2**55 + 1

    assert _limit(_packing(room=3 * huge, nodes=2, demand=huge, items=9)) >= 6


ROOM = np.array([[4800, 3900, 800]])
SMALL, LARGE, STAYING = 60, 3, 5


def _node_of_accelerators(seed: int) -> tuple[Ints, Indices, Ints]:
    """Return demand, number and value of pods.

    Few are worth most, as those that must stay are. Then come few that want half a node
    or more, and many alike.
    """
    random = np.random.default_rng(seed)
    small = random.integers((150, 150, 20), (700, 600, 110), (SMALL, 3))
    large = ROOM * random.choice([0.45, 0.7, 0.98], (LARGE, 1))
    demand = np.vstack([small, large.astype(np.int64)])
    come = random.integers(1, 4, (1, len(demand))).astype(np.int32)
    density = random.uniform(0.98, 1.02, len(demand))
    density[:STAYING] *= 2
    density[SMALL:] *= 1.5
    return demand, come, (density * 1000 * demand[:, 2]).astype(np.int64)


@pytest.mark.parametrize("seed", [2, 17])
def test_fractions_of_pods_that_fill_half_a_node_do_not_count(seed: int) -> None:
    """They are worth much, and none can be had: the search would never get through."""
    demand, come, value = _node_of_accelerators(seed)
    nothing = np.zeros(len(demand), np.int64)
    worth, best = np.zeros(1, np.int64), np.zeros((1, len(demand), 2), np.int32)
    slack, kinds = 1000, len(demand)

    best_patterns(
        demand, ROOM, np.zeros((1, kinds), np.int32), come, value, nothing,
        mixes_of(demand, ROOM), np.zeros(1, np.int32), np.full(1, -1, np.int64), slack,
        20_000, worth, best,
    )  # fmt: skip

    model, solver = cp_model.CpModel(), cp_model.CpSolver()
    uses = [model.new_int_var(0, int(most), "") for most in come[0]]
    for dimension, room in enumerate(ROOM[0].tolist()):
        model.add(_dot(demand[:, dimension], uses) <= room)
    model.maximize(_dot(value, uses))
    assert solver.solve(model) == cp_model.OPTIMAL
    assert solver.objective_value <= worth[0] <= solver.objective_value + slack
    assert (best[0, :, 1] @ demand <= ROOM[0]).all()
    assert best[0, :, 1] @ value >= worth[0] - slack


def _dot(weights: Ints, variables: list[cp_model.IntVar]) -> cp_model.LinearExprT:
    return cp_model.LinearExpr.weighted_sum(variables, weights.tolist())
