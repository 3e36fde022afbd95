"""One program for all phases of a tier, where nodes are many and unlike."""

from __future__ import annotations

import numpy as np
import pytest
from packing_oracle import items_of

from stowage_optimizer.bounds import lagrangian
from stowage_optimizer.bounds.by_kind import limit_by_kind
from stowage_optimizer.bounds.descent import FEW
from stowage_optimizer.bounds.dual import DualSearch
from stowage_optimizer.bounds.neighbourhoods import Neighbourhoods
from stowage_optimizer.bounds.question import Phase, Question
from stowage_optimizer.bounds.tier_program import TierProgram
from stowage_optimizer.model.objective import TierScore, score
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Item, Packing, packing_of

NODES = FEW + 50
KINDS = 12
NEAR_ENOUGH = 0.9
"""Without the local search, which comes first otherwise."""

NOTHING = (TierScore(0, 0, -(10**6)),)


def _packing() -> Packing:
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
    return _packing()


def _question(packing: Packing, phase: Phase) -> Question:
    return Question(packing.problem, 0, phase, NOTHING)


def _home(packing: Packing) -> np.ndarray:
    return np.array([-1 if one.home is None else one.home for one in items_of(packing)])


def test_kinds_of_nodes_prove_what_single_nodes_cannot_beat_by_much(packing: Packing) -> None:
    """Where it is far off, the first limit would be no help."""
    question = _question(packing, Phase.PLACE)

    first = limit_by_kind(question, lambda: 0.0, 60.0)

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

    first = limit_by_kind(_question(packing, Phase.PLACE), lambda: 0.0, 60.0)

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
        found = neighbourhoods.improve(nodes, 60.0, counted=True)
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
