"""Places by few moves, where devices are short: what is tried and given up leaves nothing behind."""

import numpy as np
import pytest
from device_builder import DeviceBuilder, shared
from device_fleets import decoded, random_packings

from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.model.problem import NOWHERE, Indices, Problem
from stowage_optimizer.search.compiling import compiled
from stowage_optimizer.search.device_choice import give_back
from stowage_optimizer.search.device_state import EMPTY, LEFT, SearchBins, make_bins
from stowage_optimizer.search.exchanges import exchange
from stowage_optimizer.search.placement import enter, nothing_frozen
from stowage_optimizer.search.repair import Repairer
from stowage_optimizer.search.search_arrays import make_arrays
from stowage_optimizer.search.state import NODE, make_state


@compiled
def take_all_off(node: Indices, bins: SearchBins) -> None:
    for item in range(len(node)):
        if node[item] >= 0:
            give_back(item, node[item], bins)


def exchanged(problem: Problem, most_moves: int | None) -> tuple[Indices, Indices]:
    """Return the nodes that pods had before and have in the end; what is left of room and devices is right then."""
    arrays, bins = make_arrays(problem, strict=True), make_bins(problem)
    assert bins is not None
    state = make_state(arrays, problem.tiers, 0)
    start = Repairer(problem, strict=True).repair(problem.home)
    enter(start, problem.tiers - 1, nothing_frozen(arrays), arrays, state, bins)
    for _ in exchange(arrays, state, bins, most_moves):
        pass
    node = state.items[:, NODE].copy()
    there = node != NOWHERE
    free = arrays.room.copy()
    np.subtract.at(free, node[there], arrays.demand[there])
    assert (state.free == free).all()
    take_all_off(node, bins)
    assert (bins.room[LEFT] == bins.room[EMPTY]).all()
    assert not ((start != NOWHERE) & ~there).any()
    return start, node


def moves(problem: Problem, node: Indices) -> int:
    return int(((problem.home != NOWHERE) & (node != problem.home)).sum())


def two_gpus() -> Problem:
    """Return GPUs of 100 with 10 free on each, where a pod that asks for 20 waits: a 30 and a 40 must change places."""
    builder = DeviceBuilder().node("a", shared("gpu-0", memory=100)).node("b", shared("gpu-0", memory=100))
    for amount in (20, 30, 40, 50, 60):
        builder.request(str(amount), (1, {"gpu": {"memory": amount}}))
    for name, node, amount in (("one", "a", 60), ("two", "a", 30), ("three", "b", 50), ("four", "b", 40)):
        builder.pod(name, str(amount), node=node, holds=[(0, {"memory": amount})])
    return reduce_snapshot(decoded(builder.pod("new", "20").message)).problem


@pytest.mark.parametrize(("most_moves", "waiting"), [(None, 0), (2, 0), (1, 1)])
def test_two_pods_change_places_for_one_that_waits(most_moves: int | None, waiting: int) -> None:
    """One at a time, neither has anywhere to go. A plan may not need more moves than the request allows."""
    problem = two_gpus()

    _, node = exchanged(problem, most_moves)

    assert int((node == NOWHERE).sum()) == waiting
    assert moves(problem, node) == 2 - 2 * waiting


def test_whatever_is_tried_room_and_devices_add_up() -> None:
    """An attempt that was undone by half would place pods on devices that others have."""
    placed = moved = 0
    for seed, _, packing in random_packings(range(80), nodes=5, pods=16, tiers=2):
        problem = packing.problem
        for most_moves in (1, 3, None):
            start, node = exchanged(problem, most_moves)

            # On devices that more hold than may, some have to leave whatever comes.
            assert most_moves is None or moves(problem, node) <= max(most_moves, moves(problem, start)), seed
            assert all(
                at in {*kind.eligible, home, NOWHERE}
                for at, home, kind in zip(node, problem.home, packing.kind_of, strict=True)
            ), seed
            placed += int((node != NOWHERE).sum() - (start != NOWHERE).sum())
            moved += moves(problem, node)
    assert placed > 20
    assert moved > 20
