"""The exact search for few moves against CP-SAT on the same problems."""

from __future__ import annotations

import numpy as np
import pytest
from random_packings import random_packing

from stowage_optimizer.bounds.question import Phase
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.search.moves import FOUND, PAUSED, make_stack, seek
from stowage_optimizer.search.placement import enter, nothing_frozen
from stowage_optimizer.search.problem import NOWHERE, make_problem
from stowage_optimizer.search.search_arrays import make_arrays
from stowage_optimizer.search.state import NODE, make_state
from stowage_optimizer.strategies.linear.counts import CountFormulation
from stowage_optimizer.strategies.linear.program import STAY
from stowage_optimizer.strategies.linear.solver import CpSat, Effort

SEEDS = [3, 5, 6, 9, 20, 25, 32, 44, 67, 90, 101, 117]
MOST_MOVES = 4


def fewest_moves(packing: Packing, steps: int) -> int | None:
    """Return the fewest moves that place all pods, None if more than can be tried."""
    problem = make_problem(packing)
    arrays = make_arrays(problem, strict=False)
    state = make_state(arrays, problem.tiers, seed=0)
    waiting = np.flatnonzero(problem.home == NOWHERE).astype(np.int32)
    frozen = nothing_frozen(arrays)
    for moves in range(MOST_MOVES + 1):
        enter(problem.home, problem.tiers - 1, frozen, arrays, state)
        stack = make_stack(waiting, moves, frozen, len(packing.items))
        while (ended := seek(steps, stack, arrays, state)[0]) == PAUSED:
            pass
        if ended == FOUND:
            node = state.items[:, NODE]
            moved = (problem.home != NOWHERE) & (node != problem.home)
            assert (node != NOWHERE).all()
            assert (state.free >= 0).all()
            assert moved.sum() <= moves
            return moves
    return None


def fewest_by_cp_sat(packing: Packing) -> int | None:
    """Return the same, by a model that knows nothing of the search."""
    counts = CountFormulation(packing, len(packing.tiers))
    total = len(packing.items)
    lowest = len(packing.tiers) - 1
    placed = counts.metric(Phase.PLACE, lowest)
    # What is missing is punished, since the current placement must be a solution.
    punished = [(variable, 100 * weight) for variable, weight in placed]
    best: list[tuple[int, ...]] = []
    CpSat().maximise(
        counts.program,
        [*punished, *counts.metric(Phase.DISRUPT, lowest)],
        start=counts.values(packing.current),
        effort=Effort(amount=20.0, counted=False, seed=1, workers=1),
        offer=lambda values: best.append(tuple(values)),
    )
    values = best[-1]
    if sum(weight * values[variable] for variable, weight in placed) < total:
        return None
    running = sum(item.home is not None for item in packing.items)
    stability = sum(
        weight * values[variable]
        for variable, weight in counts.metric(Phase.DISRUPT, lowest)
    )
    moves = (STAY * running - stability) // 2
    return moves if moves <= MOST_MOVES else None


@pytest.mark.parametrize("seed", SEEDS)
def test_the_fewest_moves_are_found_and_fewer_are_refuted(seed: int) -> None:
    """What the search does not find counts as proved impossible."""
    packing = random_packing(seed, pods=14 + seed % 9)

    assert fewest_moves(packing, steps=10**6) == fewest_by_cp_sat(packing)


def test_a_search_in_many_slices_is_the_same_search() -> None:
    """It is stopped every few milliseconds to look at the clock."""
    for seed in SEEDS:
        packing = random_packing(seed, pods=14 + seed % 9)

        assert fewest_moves(packing, 7) == fewest_moves(packing, 10**6)
