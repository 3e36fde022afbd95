"""Limits that hold whatever is found, and one program for all phases of a tier."""

import numpy as np
import pytest
from made_packings import Item, packing_of
from ortools.sat.python import cp_model
from packing_oracle import items_of

from stowage_optimizer.bounds import lagrangian
from stowage_optimizer.bounds.aggregate_relaxation import aggregate_bound
from stowage_optimizer.bounds.dual import DualSearch
from stowage_optimizer.bounds.groups import mixes_of
from stowage_optimizer.bounds.knapsack import knapsack_bound
from stowage_optimizer.bounds.neighbourhoods import Neighbourhoods
from stowage_optimizer.bounds.phase import Phase, Question
from stowage_optimizer.bounds.pricing import best_patterns
from stowage_optimizer.bounds.tier_program import TierProgram
from stowage_optimizer.model.certificate import ProofMethod
from stowage_optimizer.model.objective import TierScore, score
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Packing
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

    Few are worth most, as those that must stay are. Then come few that want half a node or more, and many alike.
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
        mixes_of(demand, ROOM)[None], np.zeros(1, np.int32), np.full(1, -1, np.int64), slack,
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


NODES = 250
KINDS = 12
NEAR_ENOUGH = 0.9
"""Without the local search, which comes first otherwise."""

NOTHING = (TierScore(0, 0, -(10**6)),)


def _unlike_nodes() -> Packing:
    """Return unlike nodes with three pods each, and as many that wait."""
    random = np.random.default_rng(0)
    demand = random.integers(3, 12, (KINDS, 2)).tolist()
    everywhere = tuple(range(NODES))
    rooms, items = [], []
    for node in range(NODES):
        at_home = random.integers(0, KINDS, 3).tolist()
        taken = np.sum([demand[kind] for kind in at_home], axis=0)
        rooms.append(tuple((taken + random.integers(0, 9, 2)).tolist()))
        for number, kind in enumerate(at_home):
            pod = f"{node}-{number}"
            items.append(Item(pod, 0, tuple(demand[kind]), everywhere, node))
            items.append(Item(f"{pod}-waits", 0, tuple(demand[kind]), everywhere, None))
    names = tuple(f"n{node}" for node in range(NODES))
    return packing_of(names, tuple(rooms), tuple(items), (0,))


@pytest.fixture(scope="module")
def packing() -> Packing:
    """Return the cluster of all tests here."""
    return _unlike_nodes()


def _question(packing: Packing, phase: Phase) -> Question:
    return Question(packing.problem, 0, phase, NOTHING)


def _home(packing: Packing) -> np.ndarray:
    return np.array([-1 if one.home is None else one.home for one in items_of(packing)])


def test_kinds_of_nodes_prove_what_single_nodes_cannot_beat_by_much(packing: Packing) -> None:
    """Where it is far off, the first limit would be no help."""
    question = _question(packing, Phase.PLACE)

    first = aggregate_bound(question, lambda: 0.0, 60.0)

    single = DualSearch(question, _home(packing), lambda: 0.0).run(1.0)
    assert first is not None
    assert single is not None
    assert single.value <= first.bound.value <= 1.1 * single.value


def test_nodes_of_one_size_that_are_open_to_others_have_a_mix_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """What suits the pods of one zone says nothing of those of another.

    Where the search has no steps left, the limit is that of fractions: here not quite
    two and a half pods a node. By the other dimension ten would fit.
    """
    monkeypatch.setattr(lagrangian, "BUDGET", 0)
    sizes = range(400, 420)
    here = [Item(f"here-{size}", 0, (size, 100), (1,), None) for size in sizes]
    there = [Item(f"there-{size}", 0, (100, size), (0,), None) for size in sizes]
    packing = packing_of(("a", "b"), ((1000, 1000),) * 2, (*there, *here), (0,))

    first = aggregate_bound(_question(packing, Phase.PLACE), lambda: 0.0, 60.0)

    assert first is not None
    assert first.bound.value == 4


def _ready(packing: Packing) -> TierProgram:
    """Return the program with the patterns that its best prices ask for."""
    program = TierProgram(_question(packing, Phase.KEEP))
    program.run_until(1.0, lambda: 0.0)
    while not program.ready:
        program.prepare()
    return program


def _scores(packing: Packing, nodes: np.ndarray) -> TierScore:
    assignment = tuple(None if node < 0 else int(node) for node in nodes)
    return score(packing, assignment, Policy.STRICT)[0]


def test_patterns_are_chosen_until_the_limit_is_reached_or_all_were_tried(packing: Packing) -> None:
    """From nothing placed they come near the limit; none is worse or impossible."""
    program, nodes = _ready(packing), _home(packing)
    neighbourhoods = Neighbourhoods(program, seed=0)
    room = np.array(packing.room)
    demand = np.array([one.demand for one in items_of(packing)])
    scores = [_scores(packing, nodes)]
    while not neighbourhoods.finished:
        found = neighbourhoods.improve(nodes, 60.0, deterministic=True)
        if found is not None:
            nodes = found
            used = np.zeros_like(room)
            np.add.at(used, nodes[nodes >= 0], demand[nodes >= 0])
            assert (used <= room).all()
            scores.append(_scores(packing, nodes))

    assert len(scores) > 1
    assert scores == sorted(scores)
    assert program.bound is not None
    best = DualSearch(_question(packing, Phase.PLACE), nodes, lambda: 0.0, program).run(1.0)
    assert best is not None
    assert scores[-1].placed >= NEAR_ENOUGH * best.value
