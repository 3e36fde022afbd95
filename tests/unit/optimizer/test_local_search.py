"""The compiled search: right counts, feasible answers, seeded random choices."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from checked_indices import run_with_checked_indices
from random_packings import random_packing

from stowage_optimizer.model.objective import score
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Item, Packing
from stowage_optimizer.search.cache import VARIABLE, forget_others, settle_cache
from stowage_optimizer.search.exploration import PLACING, STABILISING, explore
from stowage_optimizer.search.mending import Mender
from stowage_optimizer.search.placement import enter, nothing_frozen
from stowage_optimizer.search.problem import (
    NOWHERE,
    Indices,
    Problem,
    make_problem,
    value_of,
    without_slack,
)
from stowage_optimizer.search.search_arrays import SearchArrays, make_arrays
from stowage_optimizer.search.state import PLACED, State, make_state
from stowage_optimizer.strategies.repair import repair

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
    problem = make_problem(random_packing(seed))

    state, _ = searched(problem, strict=strict)

    counted = tuple(state.best_value.tolist())
    assert counted == value_of(problem, state.best, strict=strict)[-1]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_search_stays_within_room_and_mask(seed: int) -> None:
    """Whatever it finds, the mender takes as it is where nothing is overcommitted."""
    packing = random_packing(seed)
    problem = make_problem(packing)

    state, arrays = searched(problem, strict=False)

    load = np.zeros_like(arrays.room)
    placed = state.best != NOWHERE
    np.add.at(load, state.best[placed], arrays.demand[placed])
    assert (load <= arrays.room).all()
    for item, node in zip(packing.items, state.best.tolist(), strict=True):
        assert node == NOWHERE or node in item.eligible


def test_the_same_seed_finds_the_same_answer() -> None:
    """A run that cannot be repeated cannot be debugged."""
    problem = make_problem(random_packing(3))

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
    problem = make_problem(packing)
    wanted = np.random.default_rng(seed).integers(-1, 4, len(packing.items), np.int32)
    for index, item in enumerate(packing.items):
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
    packing = Packing(("full", "lacking"), ((4, 9), (4, -(2**60))), items, (1, 0), ())
    problem = make_problem(packing)

    mended = Mender(problem, strict=True).mend(np.array([0, NOWHERE], np.int32))

    assert mended.tolist() == [0, 1]


def test_a_dimension_is_left_out_only_where_another_one_is_short_before() -> None:
    """Bounds are computed without it: a false step here would be a false proof."""
    problem = make_problem(random_packing(2))
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
    problem = make_problem(random_packing(2))
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
        "from stowage_optimizer.search.problem import make_problem\n"
        "for seed in range(4):\n"
        "    searched(make_problem(random_packing(seed)), strict=seed % 2 == 0)\n",
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
