"""The compiled search: making room, few moves, and the local search."""

import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from made_packings import Item, packing_of
from numba.core.caching import UserProvidedCacheLocator

from stowage_optimizer.bounds.proofs import trivial_bounds
from stowage_optimizer.model.objective import value_of
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.problem import NOWHERE, Indices, Problem
from stowage_optimizer.search.cache import SHIPPED, VARIABLE, forget_others, settle_cache
from stowage_optimizer.search.clearing import clear_room
from stowage_optimizer.search.exploration import PLACING, STABILISING, explore
from stowage_optimizer.search.moves import FOUND, PAUSED, make_stack, seek
from stowage_optimizer.search.placement import enter, nothing_frozen
from stowage_optimizer.search.repair import Repairer
from stowage_optimizer.search.search_arrays import SearchArrays, make_arrays
from stowage_optimizer.search.state import NODE, PLACED, State, make_state
from stowage_optimizer.strategies.lexicographic.local_search import MANY_ITEMS, LocalSearch
from stowage_optimizer.strategies.lexicographic.shared_state import SharedState, WorkClock

NODES = 4


def packed(rooms: Sequence[tuple[int, int]], items: Sequence[Item]) -> Packing:
    tiers = tuple(sorted({item.priority for item in items}, reverse=True))
    names = tuple(f"n{node}" for node in range(len(rooms)))
    return packing_of(names, tuple(rooms), tuple(items), tiers)


def random_packing(seed: int, *, pods: int = 24, overcommitted: bool = False) -> Packing:
    """Return nearly full nodes of two sizes, replicas, three tiers, and masks.

    It is too large for the oracle. If overcommitted, a node holds more than fits.
    """
    draw = random.Random(seed)  # noqa: S311 - not for secrets
    room = [(draw.choice([60, 90]), draw.choice([60, 90])) for _ in range(NODES)]
    left = np.array(room)
    items: list[Item] = []
    while len(items) < pods:
        demand = (draw.randint(2, 20), draw.randint(0, 20))
        priority = draw.randint(0, 2)
        nodes = draw.sample(range(NODES), draw.choice([2, 3, 4, 4, 4]))
        for _ in range(min(draw.randint(1, 4), pods - len(items))):
            fitting = [node for node in nodes if (left[node] >= demand).all()]
            home = draw.choice(fitting) if fitting else None
            if home is not None:
                left[home] -= demand
            name = f"pod-{len(items)}"
            items.append(Item(name, priority, demand, tuple(sorted(nodes)), home))
    if overcommitted:
        room[0] = (room[0][0] // 2, room[0][1])
    return packed(room, items)


def searched(problem: Problem, *, strict: bool, seed: int = 1) -> tuple[State, SearchArrays]:
    """Return the state after some thousand steps of both phases on the last tier."""
    arrays = make_arrays(problem, strict=strict)
    state = make_state(arrays, problem.tiers, seed)
    start = Repairer(problem, strict=strict).repair(problem.home)
    for phase in (PLACING, STABILISING):
        enter(start, problem.tiers - 1, nothing_frozen(arrays), arrays, state)
        state.goal[PLACED] = len(problem.home) + 1
        explore(2000, problem.tiers - 1, phase, 0.5, 0.05, arrays, state, None)
        start = state.best
    return state, arrays


def keeps_to_room_and_mask(problem: Problem, nodes: Indices) -> bool:
    """Tell whether those who are placed fit, and those who come are let in."""
    load, placed = np.zeros_like(problem.room), nodes != NOWHERE
    np.add.at(load, nodes[placed], problem.demand[problem.kind[placed]])
    let_in = problem.allowed[problem.mask[problem.kind], nodes]
    comes = placed & (nodes != problem.home)
    return bool((load <= problem.room).all() and let_in[comes].all())


@pytest.mark.parametrize("strict", [True, False])
def test_the_value_counted_along_is_that_of_the_best_within_room_and_mask(strict: bool) -> None:
    """Every decision rests on counts that are only ever changed by differences."""
    for seed in range(8):
        problem = random_packing(seed).problem

        state, _ = searched(problem, strict=strict)

        counted = tuple(state.best_value.tolist())
        assert counted == value_of(problem, state.best, strict=strict)[-1]
        assert keeps_to_room_and_mask(problem, state.best)


@pytest.mark.parametrize("home", [0, None])
def test_a_node_that_lacks_any_amount_of_one_thing_is_open_to_who_asks_for_none(home: int | None) -> None:
    """Else a pod is evicted although it fits there, and the plan is refused."""
    items = (Item("above", 1, (4, 0), (0,), None), Item("below", 0, (4, 0), (0, 1), home))
    packing = packed([(4, 9), (4, -(2**60))], items)

    repaired = Repairer(packing.problem, strict=True).repair(np.array([0, NOWHERE], np.int32))

    assert repaired.tolist() == [0, 1]


def test_compiled_code_goes_beside_its_source_where_that_is_writable(tmp_path: Path) -> None:
    """A checkout keeps its cache, and `git clean` removes it."""
    environment: dict[str, str] = {}

    place = settle_cache(environment, tmp_path / "code", tmp_path / "tmp")

    assert place.parent == tmp_path / "code" / "__pycache__"
    assert environment == {VARIABLE: str(place)}
    assert settle_cache(environment, tmp_path / "code", tmp_path / "tmp") == place


def test_code_compiled_of_other_sources_is_not_used(tmp_path: Path) -> None:
    """Numba looks at a function's own file only: what it calls may have changed."""
    inner = tmp_path / "code" / "inner.py"
    inner.parent.mkdir()
    inner.write_text("ONE = 1", encoding="utf-8")
    before = settle_cache({}, inner.parent, tmp_path)
    inner.write_text("ONE = 2", encoding="utf-8")

    after = settle_cache({}, inner.parent, tmp_path)
    forget_others(after)

    assert after != before
    assert (before.exists(), after.exists()) == (False, True)


@pytest.mark.parametrize("checkouts", [["theirs"], ["another", "ours", "theirs"]])
def test_what_another_checkout_compiled_of_the_same_sources_is_taken(checkouts: list[str], tmp_path: Path) -> None:
    """Compiling takes minutes, and Numba names the folder of compiled code by the path of its source.

    A former checkout may have been where this one is.
    """
    theirs, ours = (tmp_path / name / "search" / "inner.py" for name in ("theirs", "ours"))
    for file in (theirs, ours):
        file.parent.mkdir(parents=True)
        file.write_text("ONE = 1", encoding="utf-8")
    folder_of: Callable[[str], str] = UserProvidedCacheLocator.get_suitable_cache_subpath
    made = settle_cache({}, theirs.parent, tmp_path)
    for name in checkouts:
        compiled = made / folder_of(str(tmp_path / name / "search" / "inner.py"))
        compiled.mkdir()
        (compiled / "inner.nbi").touch()

    place = settle_cache({SHIPPED: str(made.parent)}, ours.parent, tmp_path)

    assert [folder.name for folder in place.iterdir()] == [folder_of(str(ours))]


@pytest.mark.parametrize("open_to_others", [False, True])
def test_compiled_code_goes_to_a_folder_of_its_own_in_a_read_only_container(
    tmp_path: Path, open_to_others: bool
) -> None:
    """Numba fails at import without a place; where others write, their code is run."""
    (tmp_path / "code").write_text("not a folder", encoding="utf-8")
    planted = tmp_path / f"stowage-compiled-{os.getuid()}"
    if open_to_others:
        planted.mkdir()
        planted.chmod(0o777)
    environment: dict[str, str] = {}

    place = settle_cache(environment, tmp_path / "code", tmp_path)

    assert environment == {VARIABLE: str(place)}
    assert place.parent.stat().st_mode & 0o077 == 0
    assert (planted in place.parents) is not open_to_others


FEWEST_MOVES: dict[int, int | None] = {
    0: 0, 6: 1, 7: 4, 8: None, 13: 3, 14: 2, 15: None, 43: 4, 52: 2, 60: 2, 116: 3,
}  # fmt: skip
"""By seed, as CP-SAT has proved; None is more than can be tried."""

MOST_MOVES = 4


def fewest_moves(packing: Packing, steps: int) -> int | None:
    """Return the fewest moves that place all pods, None if more than can be tried."""
    problem = packing.problem
    arrays = make_arrays(problem, strict=False)
    state = make_state(arrays, problem.tiers, seed=0)
    waiting = np.flatnonzero(problem.home == NOWHERE).astype(np.int32)
    frozen = nothing_frozen(arrays)
    for moves in range(MOST_MOVES + 1):
        enter(problem.home, problem.tiers - 1, frozen, arrays, state)
        stack = make_stack(waiting, moves, frozen, len(packing.current))
        while (ended := seek(steps, stack, arrays, state)[0]) == PAUSED:
            pass
        if ended == FOUND:
            node = state.items[:, NODE]
            assert (node != NOWHERE).all()
            assert (state.free >= 0).all()
            assert moved(problem, node) <= moves
            return moves
    return None


@pytest.mark.parametrize("steps", [7, 10**6])
def test_the_fewest_moves_are_found_and_fewer_are_refuted(steps: int) -> None:
    """What is not found counts as impossible, in many slices as in a single one."""
    found = {seed: fewest_moves(random_packing(seed, pods=14 + seed % 9), steps) for seed in FEWEST_MOVES}

    assert found == FEWEST_MOVES


ROOM = 16


def running(nodes: int, sizes: list[int], priority: int = 0) -> list[Item]:
    """Return pods of these sizes on each node."""
    everywhere = tuple(range(nodes))
    return [
        Item(f"running-{node}-{index}", priority, (size, 1), everywhere, node)
        for node in everywhere
        for index, size in enumerate(sizes)
    ]


def packing(nodes: int, run: list[Item], waiting: list[tuple[int, int]]) -> Packing:
    """Return nodes of equal room, and pods that wait, each of a size and priority."""
    everywhere = tuple(range(nodes))
    pending = [
        Item(f"waiting-{index}", priority, (size, 1), everywhere, None)
        for index, (size, priority) in enumerate(waiting)
    ]
    return packed([(ROOM, 110)] * nodes, [*run, *pending])


def cleared(problem: Problem) -> Indices:
    """Return the first plan, which must be one that can be carried out."""
    arrays = make_arrays(problem, strict=True)
    found = clear_room(problem.home, arrays, make_state(arrays, problem.tiers, seed=0))
    assert keeps_to_room_and_mask(problem, found)
    return found


def moved(problem: Problem, found: Indices) -> int:
    runs = problem.home != NOWHERE
    assert (found[runs] != NOWHERE).all()
    return int((found[runs] != problem.home[runs]).sum())


@pytest.mark.parametrize(
    ("nodes", "sizes", "priority", "waiting", "placed", "moves"),
    [
        pytest.param(40, [1] * 10, 0, [7] * 20, [True] * 20, 20, id="each takes one's"),
        pytest.param(4, [4, 4], 0, [ROOM] * 2, [True] * 2, 4, id="several for one"),
        pytest.param(4, [4, 4], 1, [ROOM], [False], 0, id="nobody for a lower tier"),
        pytest.param(
            3, [4] * 3, 0, [ROOM + 1, ROOM, 8], [False, False, True], 1,
            id="who cannot be helped stays out and holds nobody up",
        ),
    ],
)  # fmt: skip
def test_the_first_plan_moves_no_more_than_it_must(
    *, nodes: int, sizes: list[int], priority: int, waiting: list[int], placed: list[bool], moves: int
) -> None:
    """500 pods that need 500 moves got a plan of 5,462, and seconds later a better."""
    wait = [(size, 0) for size in waiting]
    problem = packing(nodes, running(nodes, sizes, priority), wait).problem

    found = cleared(problem)

    assert moved(problem, found) == moves
    assert (found[-len(waiting) :] != NOWHERE).tolist() == placed


def test_a_large_problem_has_a_plan_before_any_search() -> None:
    """At a limit of a second, on a busy machine, the search may hardly begin."""
    nodes = MANY_ITEMS // 10 + 1
    whole = packing(nodes, running(nodes, [1] * 10), [(7, 0)] * 50)
    shared = SharedState(whole.problem, strict=True, bounds=trivial_bounds(whole))

    LocalSearch(shared, WorkClock(lambda: 0.0, deterministic=True), seed=0).start()

    assert shared.value == ((10 * nodes, 10 * nodes + 50, -2 * 50),)
