"""The compiled search: making room, few moves, and the local search."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from checked_indices import run_with_checked_indices
from packing_oracle import items_of
from random_packings import random_packing
from solving_in_process import budget_of

from stowage_optimizer.assignments.repair import repair
from stowage_optimizer.bounds.proofs import trivial_bounds
from stowage_optimizer.bounds.question import Phase
from stowage_optimizer.model.objective import score, value_of
from stowage_optimizer.model.options import Policy, SolveOptions
from stowage_optimizer.model.packing import Item, Packing, packing_of
from stowage_optimizer.model.problem import NOWHERE, Indices, Problem, without_slack
from stowage_optimizer.programs.counts import CountFormulation
from stowage_optimizer.programs.program import STAY
from stowage_optimizer.programs.solver import CpSat, Task
from stowage_optimizer.search.cache import VARIABLE, forget_others, settle_cache
from stowage_optimizer.search.clearing import clear_room
from stowage_optimizer.search.exploration import PLACING, STABILISING, explore
from stowage_optimizer.search.mending import Mender
from stowage_optimizer.search.moves import FOUND, PAUSED, make_stack, seek
from stowage_optimizer.search.placement import enter, nothing_frozen
from stowage_optimizer.search.search_arrays import SearchArrays, make_arrays
from stowage_optimizer.search.state import NODE, PLACED, State, make_state
from stowage_optimizer.strategies.lexicographic.local_search import (
    MANY_ITEMS,
    LocalSearch,
)
from stowage_optimizer.strategies.lexicographic.shared_state import (
    SharedState,
    WorkClock,
)

SEEDS = range(12)


def searched(
    problem: Problem, *, strict: bool, seed: int = 1
) -> tuple[State, SearchArrays]:
    """Return the state after some thousand steps of both phases on the last tier."""
    arrays = make_arrays(problem, strict=strict)
    state = make_state(arrays, problem.tiers, seed)
    start = Mender(problem, strict=strict).mend(problem.home)
    for phase in (PLACING, STABILISING):
        enter(start, problem.tiers - 1, nothing_frozen(arrays), arrays, state)
        state.goal[PLACED] = len(problem.home) + 1
        explore(2000, problem.tiers - 1, phase, 0.5, 0.05, arrays, state)
        start = state.best
    return state, arrays


def as_assignment(nodes: Indices) -> tuple[int | None, ...]:
    return tuple(None if node == NOWHERE else node for node in nodes.tolist())


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_value_that_the_search_counts_along_is_that_of_its_best(
    seed: int, strict: bool
) -> None:
    """Every decision rests on counts that are only ever changed by differences."""
    problem = random_packing(seed).problem

    state, _ = searched(problem, strict=strict)

    counted = tuple(state.best_value.tolist())
    assert counted == value_of(problem, state.best, strict=strict)[-1]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_search_stays_within_room_and_mask(seed: int) -> None:
    """Whatever it finds, the mender takes as it is where nothing is overcommitted."""
    packing = random_packing(seed)
    problem = packing.problem

    state, arrays = searched(problem, strict=False)

    load = np.zeros_like(arrays.room)
    placed = state.best != NOWHERE
    np.add.at(load, state.best[placed], arrays.demand[placed])
    assert (load <= arrays.room).all()
    for item, node in zip(items_of(packing), state.best.tolist(), strict=True):
        assert node == NOWHERE or node in item.eligible


def test_the_same_seed_finds_the_same_answer() -> None:
    """A run that cannot be repeated cannot be debugged."""
    problem = random_packing(3).problem

    first, _ = searched(problem, strict=True, seed=5)
    second, _ = searched(problem, strict=True, seed=5)

    assert (first.items == second.items).all()
    assert first.rng == second.rng


@pytest.mark.parametrize("policy", [Policy.STRICT, Policy.PAPER])
@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_left_to_repair_in_a_mended_assignment(
    seed: int, policy: Policy
) -> None:
    """The repair of the other strategies says what whole means, item by item."""
    packing = random_packing(seed, overcommitted=seed % 2 == 0)
    strict = policy is Policy.STRICT
    problem = packing.problem
    wanted = np.random.default_rng(seed).integers(-1, 4, len(packing.current), np.int32)
    for index, item in enumerate(items_of(packing)):
        if wanted[index] not in item.eligible:
            wanted[index] = NOWHERE

    mended = Mender(problem, strict=strict).mend(wanted)

    assignment = as_assignment(mended)
    assert repair(packing, assignment, policy) == assignment
    reached = score(packing, assignment, policy)
    expected = value_of(problem, mended, strict=strict)
    assert expected == tuple((one.kept, one.placed, one.stability) for one in reached)


@pytest.mark.parametrize("home", [0, None])
def test_a_node_that_lacks_any_amount_of_one_thing_is_open_to_who_asks_for_none(
    home: int | None,
) -> None:
    """Else a pod is evicted although it fits there, and the plan is refused."""
    items = (
        Item("above", 1, (4, 0), (0,), None),
        Item("below", 0, (4, 0), (0, 1), home),
    )
    packing = packing_of(("full", "lacking"), ((4, 9), (4, -(2**60))), items, (1, 0))
    problem = packing.problem

    mended = Mender(problem, strict=True).mend(np.array([0, NOWHERE], np.int32))

    assert mended.tolist() == [0, 1]


def test_a_dimension_is_left_out_only_where_another_one_is_short_before() -> None:
    """Bounds are computed without it: a false step here would be a false proof."""
    problem = random_packing(2).problem
    ones = np.ones((len(problem.demand), 1), np.int64)
    for pods, short in ((1000, False), (3, True)):
        rooms = np.full((len(problem.room), 1), pods, np.int64)
        wider = replace(
            problem,
            demand=np.hstack([problem.demand, ones]),
            room=np.hstack([problem.room, rooms]),
        )

        assert bool((without_slack(wider).room[:, -1] == pods).all()) is short


def test_no_dimension_is_left_out_for_pods_that_only_ask_for_it() -> None:
    """A pod without CPU still counts as a pod, also on a node without CPU."""
    problem = random_packing(2).problem
    demand = np.array([[0, 1]] * len(problem.demand), np.int64)
    for cpu_milli in (0, 5):
        room = np.array([[cpu_milli, 100]] * len(problem.room), np.int64)

        kept = without_slack(replace(problem, demand=demand, room=room))

        assert (kept.room[:, -1] == 100).all()


def test_no_index_is_out_of_bounds(pytestconfig: pytest.Config) -> None:
    """Compiled code reads and writes outside its arrays without an error."""
    assert pytestconfig.cache is not None
    run_with_checked_indices(
        "from random_packings import random_packing\n"
        "from test_local_search import searched\n"
        "from stowage_optimizer.model.problem import make_problem\n"
        "for seed in range(4):\n"
        "    searched(random_packing(seed).problem, strict=seed % 2 == 0)\n",
        __file__,
        pytestconfig.cache,
    )


def test_compiled_code_goes_beside_its_source_where_that_is_writable(
    tmp_path: Path,
) -> None:
    """A checkout keeps its cache, and `git clean` removes it."""
    environment: dict[str, str] = {}

    place = settle_cache(environment, tmp_path / "code", tmp_path / "tmp")

    assert place.parent == tmp_path / "code" / "__pycache__"
    assert environment == {VARIABLE: str(place)}
    assert settle_cache(environment, tmp_path / "code", tmp_path / "tmp") == place


def test_code_compiled_of_other_sources_is_not_used(tmp_path: Path) -> None:
    """Numba looks at a function's own file only: what it calls may have changed."""
    code = tmp_path / "code"
    code.mkdir()
    (code / "inner.py").write_text("ONE = 1", encoding="utf-8")
    before = settle_cache({}, code, tmp_path)
    (code / "inner.py").write_text("ONE = 2", encoding="utf-8")

    after = settle_cache({}, code, tmp_path)

    assert after != before
    forget_others(after)
    assert not before.exists()
    assert after.exists()


def test_compiled_code_goes_to_an_own_folder_in_a_read_only_container(
    tmp_path: Path,
) -> None:
    """Numba fails at import if it finds no place, even one that it would not need."""
    (tmp_path / "code").write_text("not a folder", encoding="utf-8")
    environment: dict[str, str] = {}

    place = settle_cache(environment, tmp_path / "code", tmp_path)

    assert place.parent.parent == tmp_path
    assert environment == {VARIABLE: str(place)}
    assert place.parent.stat().st_mode & 0o077 == 0


def test_compiled_code_is_not_taken_from_a_folder_that_others_may_write_to(
    tmp_path: Path,
) -> None:
    """What is cached is run: write access there runs code in the service."""
    (tmp_path / "code").write_text("not a folder", encoding="utf-8")
    planted = tmp_path / f"stowage-compiled-{os.getuid()}"
    planted.mkdir()
    planted.chmod(0o777)

    place = settle_cache({}, tmp_path / "code", tmp_path)

    assert planted not in place.parents


MOVES_SEEDS = [3, 5, 6, 9, 20, 25, 32, 44, 67, 90, 101, 117]
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
            moved = (problem.home != NOWHERE) & (node != problem.home)
            assert (node != NOWHERE).all()
            assert (state.free >= 0).all()
            assert moved.sum() <= moves
            return moves
    return None


def fewest_by_cp_sat(packing: Packing) -> int | None:
    """Return the same, by a model that knows nothing of the search."""
    counts = CountFormulation(packing, len(packing.tiers))
    total = len(packing.current)
    lowest = len(packing.tiers) - 1
    placed = counts.metric(Phase.PLACE, lowest)
    # What is missing is punished, since the current placement must be a solution.
    punished = [(variable, 100 * weight) for variable, weight in placed]
    best: list[tuple[int, ...]] = []
    task = Task(
        counts.program,
        [*punished, *counts.metric(Phase.DISRUPT, lowest)],
        start=counts.values(packing.current),
        budget=budget_of(SolveOptions(time_limit_s=20.0, seed=1, workers=1)),
        offer=lambda values: best.append(tuple(values)),
    )
    CpSat().maximise(task)
    values = best[-1]
    if sum(weight * values[variable] for variable, weight in placed) < total:
        return None
    running = sum(item.home is not None for item in items_of(packing))
    stability = sum(
        weight * values[variable]
        for variable, weight in counts.metric(Phase.DISRUPT, lowest)
    )
    moves = (STAY * running - stability) // 2
    return moves if moves <= MOST_MOVES else None


@pytest.mark.parametrize("seed", MOVES_SEEDS)
def test_the_fewest_moves_are_found_and_fewer_are_refuted(seed: int) -> None:
    """What the search does not find counts as proved impossible."""
    packing = random_packing(seed, pods=14 + seed % 9)

    assert fewest_moves(packing, steps=10**6) == fewest_by_cp_sat(packing)


def test_a_search_in_many_slices_is_the_same_search() -> None:
    """It is stopped every few milliseconds to look at the clock."""
    for seed in MOVES_SEEDS:
        packing = random_packing(seed, pods=14 + seed % 9)

        assert fewest_moves(packing, 7) == fewest_moves(packing, 10**6)


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
    return packing_of(names, ((ROOM, 110),) * nodes, items, tiers)


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
    problem = packing(nodes, running, [(7, 0)] * 20).problem

    found = cleared(problem)

    assert (found != NOWHERE).all()
    assert moved(problem, found) == 20


def test_several_make_way_for_one_that_needs_a_whole_node() -> None:
    """250 pods of a whole node each were one of the cases that a user tried."""
    running = [one for node in range(4) for one in run_on(node, [4, 4], 4)]
    problem = packing(4, running, [(ROOM, 0), (ROOM, 0)]).problem

    found = cleared(problem)

    assert (found != NOWHERE).all()
    assert moved(problem, found) == 4


def test_nobody_moves_for_a_pod_of_a_lower_tier() -> None:
    """Above, less disruption counts for more than any pod placed below."""
    running = [one for node in range(4) for one in run_on(node, [4, 4], 4, priority=1)]
    problem = packing(4, running, [(ROOM, 0)]).problem

    found = cleared(problem)

    assert moved(problem, found) == 0
    assert found[-1] == NOWHERE


def test_who_cannot_be_helped_stays_out_and_holds_nobody_up() -> None:
    """What makes way in vain would be disrupted for nothing."""
    running = [one for node in range(3) for one in run_on(node, [4] * 3, 3)]
    problem = packing(3, running, [(ROOM + 1, 0), (ROOM, 0), (8, 0)]).problem

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
    problem = packing(nodes, items, waiting).problem

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
    problem = whole.problem
    shared = SharedState(problem, strict=True, bounds=trivial_bounds(whole))

    LocalSearch(shared, WorkClock(lambda: 0.0, counted=True), seed=0).start()

    assert shared.value == ((10 * nodes, 10 * nodes + 50, -2 * 50),)
