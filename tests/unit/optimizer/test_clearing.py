"""The first plan for many pods: each that waits takes the place of a few others."""

from __future__ import annotations

import numpy as np
import pytest

from stowage_optimizer.model.packing import Item, Packing
from stowage_optimizer.search.clearing import clear_room
from stowage_optimizer.search.mending import Mender
from stowage_optimizer.search.problem import (
    NOWHERE,
    Indices,
    Problem,
    make_problem,
    value_of,
)
from stowage_optimizer.search.search_arrays import make_arrays
from stowage_optimizer.search.state import make_state
from stowage_optimizer.strategies.bounds import trivial_bounds
from stowage_optimizer.strategies.lexicographic.local_search import (
    MANY_ITEMS,
    LocalSearch,
)
from stowage_optimizer.strategies.lexicographic.shared_state import (
    SharedState,
    WorkClock,
)

ROOM = 16


def packing(nodes: int, running: list[Item], waiting: list[tuple[int, int]]) -> Packing:
    """Return nodes of equal room, and pods that wait, each of a size and priority."""
    everywhere = tuple(range(nodes))
    pending = [
        Item(f"waiting-{index}", priority, (size, 1), everywhere, None)
        for index, (size, priority) in enumerate(waiting)
    ]
    items = (*running, *pending)
    tiers = tuple(sorted({item.priority for item in items}, reverse=True))
    names = tuple(f"n{node}" for node in everywhere)
    return Packing(names, ((ROOM, 110),) * nodes, items, tiers, ())


def run_on(node: int, sizes: list[int], nodes: int, priority: int = 0) -> list[Item]:
    everywhere = tuple(range(nodes))
    return [
        Item(f"running-{node}-{index}", priority, (size, 1), everywhere, node)
        for index, size in enumerate(sizes)
    ]


def cleared(problem: Problem) -> Indices:
    """Return the first plan, which must be one that can be carried out."""
    arrays = make_arrays(problem, strict=True)
    state = make_state(arrays, problem.tiers, seed=0)
    found = clear_room(problem.home, arrays, state)
    load = np.zeros_like(problem.room)
    placed = found != NOWHERE
    np.add.at(load, found[placed], problem.demand[problem.kind[placed]])
    assert (load <= problem.room).all()
    return found


def moved(problem: Problem, found: Indices) -> int:
    running = problem.home != NOWHERE
    assert (found[running] != NOWHERE).all()
    return int((found[running] != problem.home[running]).sum())


def test_each_waiting_pod_takes_the_place_of_one_where_that_is_enough() -> None:
    """500 pods that need 500 moves got a plan of 5,462, and seconds later a better."""
    nodes = 40
    running = [one for node in range(nodes) for one in run_on(node, [1] * 10, nodes)]
    problem = make_problem(packing(nodes, running, [(7, 0)] * 20))

    found = cleared(problem)

    assert (found != NOWHERE).all()
    assert moved(problem, found) == 20


def test_several_make_way_for_one_that_needs_a_whole_node() -> None:
    """250 pods of a whole node each were one of the cases that a user tried."""
    running = [one for node in range(4) for one in run_on(node, [4, 4], 4)]
    problem = make_problem(packing(4, running, [(ROOM, 0), (ROOM, 0)]))

    found = cleared(problem)

    assert (found != NOWHERE).all()
    assert moved(problem, found) == 4


def test_nobody_moves_for_a_pod_of_a_lower_tier() -> None:
    """Above, less disruption counts for more than any pod placed below."""
    running = [one for node in range(4) for one in run_on(node, [4, 4], 4, priority=1)]
    problem = make_problem(packing(4, running, [(ROOM, 0)]))

    found = cleared(problem)

    assert moved(problem, found) == 0
    assert found[-1] == NOWHERE


def test_who_cannot_be_helped_stays_out_and_holds_nobody_up() -> None:
    """What makes way in vain would be disrupted for nothing."""
    running = [one for node in range(3) for one in run_on(node, [4] * 3, 3)]
    problem = make_problem(packing(3, running, [(ROOM + 1, 0), (ROOM, 0), (8, 0)]))

    found = cleared(problem)

    assert found[-3] == found[-2] == NOWHERE
    assert found[-1] != NOWHERE
    assert moved(problem, found) == 1


@pytest.mark.parametrize("seed", range(20))
def test_the_first_plan_is_whole_and_never_worse_than_the_present(seed: int) -> None:
    """It goes out as it is, and is checked as any other."""
    draw = np.random.default_rng(seed)
    nodes, items = 8, []
    for node in range(nodes):
        left = ROOM
        for index in range(6):
            size = int(draw.integers(1, 6))
            if size <= left:
                left -= size
                reach = {node, *map(int, draw.integers(0, nodes, 4))}
                items.append(
                    Item(
                        f"{node}-{index}",
                        int(draw.integers(0, 3)),
                        (size, 1),
                        tuple(sorted(reach)),
                        node,
                    )
                )
    waiting = [(int(draw.integers(2, 9)), int(draw.integers(0, 3))) for _ in range(9)]
    problem = make_problem(packing(nodes, items, waiting))

    found = cleared(problem)

    assert problem.allowed[problem.mask[problem.kind], found][
        (found != NOWHERE) & (found != problem.home)
    ].all()
    before = value_of(problem, problem.home, strict=True)
    assert value_of(problem, found, strict=True) >= before
    whole = Mender(problem, strict=True).mend(found)
    assert value_of(problem, whole, strict=True) >= value_of(
        problem, found, strict=True
    )


def test_a_large_problem_has_a_plan_before_any_search() -> None:
    """At a limit of a second, on a busy machine, the search may hardly begin."""
    nodes = MANY_ITEMS // 10 + 1
    running = [one for node in range(nodes) for one in run_on(node, [1] * 10, nodes)]
    whole = packing(nodes, running, [(7, 0)] * 50)
    problem = make_problem(whole)
    shared = SharedState(problem, strict=True, bounds=trivial_bounds(whole))

    LocalSearch(shared, WorkClock(lambda: 0.0, counted=True), seed=0).start()

    assert shared.value == ((10 * nodes, 10 * nodes + 50, -2 * 50),)
