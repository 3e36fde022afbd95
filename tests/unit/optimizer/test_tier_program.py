"""One program for all phases of a tier, where nodes are many and unlike."""

from __future__ import annotations

import numpy as np
import pytest

from stowage_optimizer.bounds.by_kind import limit_by_kind
from stowage_optimizer.bounds.descent import FEW
from stowage_optimizer.bounds.dual import DualSearch
from stowage_optimizer.bounds.question import Phase, Question
from stowage_optimizer.bounds.tier_program import TierProgram
from stowage_optimizer.model.objective import TierScore
from stowage_optimizer.model.packing import Item, Packing
from stowage_optimizer.search.problem import make_problem

NODES = FEW + 50
KINDS = 12
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
    return Packing(names, tuple(rooms), tuple(items), (0,), ())


@pytest.fixture(scope="module")
def packing() -> Packing:
    """Return the cluster of all tests here."""
    return _packing()


def _question(packing: Packing, phase: Phase) -> Question:
    return Question(make_problem(packing), 0, phase, NOTHING)


def _home(packing: Packing) -> np.ndarray:
    return np.array([-1 if one.home is None else one.home for one in packing.items])


def test_steps_down_the_slope_bring_patterns_before_the_first_program_is_solved(
    packing: Packing,
) -> None:
    """Else a program over many unlike nodes needs twice the rounds."""
    question = _question(packing, Phase.PLACE)
    program = TierProgram(question)
    program.run_until(1.0, lambda: 0.0)
    program.prepare()
    first = program.bound

    while program.descending:
        program.prepare()

    assert first is not None
    assert program.bound is not None
    assert program.bound < first


def test_what_one_phase_found_is_known_to_the_next(packing: Packing) -> None:
    """The patterns are the same; only what they are worth changes."""
    program = TierProgram(_question(packing, Phase.PLACE))
    rounds = []
    for phase in (Phase.PLACE, Phase.DISRUPT):
        search = DualSearch(
            _question(packing, phase), _home(packing), lambda: 0.0, program
        )
        made = 0
        while not search.finished:
            search.run(1.0, rounds=1)
            made += 1
        rounds.append(made)

    assert rounds[1] < rounds[0] / 2


def test_kinds_of_nodes_prove_what_single_nodes_cannot_beat_by_much(
    packing: Packing,
) -> None:
    """Where it is far off, the first limit would be no help."""
    question = _question(packing, Phase.PLACE)

    first = limit_by_kind(question, lambda: 0.0, 60.0)

    single = DualSearch(question, _home(packing), lambda: 0.0).run(1.0)
    assert first is not None
    assert single is not None
    assert single.value <= first.bound.value <= 1.1 * single.value


def test_without_time_nothing_is_proved_and_nothing_is_lost(packing: Packing) -> None:
    """Slices are short in the beginning: a step that had no time is made later."""
    question = _question(packing, Phase.PLACE)
    search = DualSearch(question, _home(packing), lambda: 5.0)

    assert search.run(4.0) is None
    assert not search.finished

    assert search.run(6.0, rounds=400) is not None
