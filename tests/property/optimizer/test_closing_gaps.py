"""What closes the last gaps, against an oracle that tries every assignment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from packing_oracle import (
    at_least,
    feasible_assignments,
    feasible_scores,
    overcommitted,
    packings,
)

from stowage_optimizer.bounds.dual import DualSearch
from stowage_optimizer.bounds.enumeration import (
    Enumerated,
    enumeration_bound,
    recombine,
)
from stowage_optimizer.bounds.exact_fit import exact_fit_bound
from stowage_optimizer.bounds.question import Phase, Question
from stowage_optimizer.model.objective import Score, score
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Item, Packing
from stowage_optimizer.search.problem import Indices, Ints, make_problem

EARLIER = {Phase.PLACE: ("kept",), Phase.DISRUPT: ("kept", "placed")}
LONG_S = 5.0
BRIEF = settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)


def _value(found: Score, tier: int, phase: Phase) -> int:
    """Return the number of a phase as bounds have it: disruption is positive."""
    return found[tier].placed if phase is Phase.PLACE else -found[tier].stability


def _best(scores: set[Score], reached: Score, tier: int, phase: Phase) -> int:
    among = [
        _value(one, tier, phase)
        for one in scores
        if at_least(one, reached, tier, EARLIER[phase])
    ]
    return min(among) if phase is Phase.DISRUPT else max(among)


@dataclass(frozen=True)
class _Asked:
    """A question about a tier, given the score of some assignment, and its answer."""

    question: Question
    best: int

    def answered_by(self, packing: Packing, nodes: Indices) -> None:
        """Assert that ``nodes`` can be carried out, and reach the best there is."""
        tier, phase = self.question.tier, self.question.phase
        assert _named(nodes) in set(feasible_assignments(packing))
        found = score(packing, _named(nodes), Policy.STRICT)
        reached = tuple(self.question.reached)
        assert at_least(found, reached, tier, EARLIER[phase])
        assert _value(found, tier, phase) == self.best


def _asked(packing: Packing, phase: Phase, data: st.DataObject) -> Iterator[_Asked]:
    """Yield the question about each tier of a packing in which nothing is overfull."""
    if overcommitted(packing):
        return
    scores = feasible_scores(packing, Policy.STRICT)
    reached = data.draw(st.sampled_from(sorted(scores)))
    for tier in range(len(packing.tiers)):
        yield _Asked(
            Question(make_problem(packing), tier, phase, reached),
            _best(scores, reached, tier, phase),
        )


def _nowhere(packing: Packing) -> Ints:
    return np.full(len(packing.items), -1)


def _named(nodes: Indices) -> tuple[int | None, ...]:
    return tuple(None if node < 0 else int(node) for node in nodes)


def _close_in(question: Question, search: DualSearch) -> tuple[int, Enumerated] | None:
    """Ask for the limit, then for the next worse value, until one is reached."""
    dual = search.run(LONG_S)
    if dual is None or dual.prices is None:
        return None
    aim = dual.value
    while True:
        found = enumeration_bound(
            question, dual.prices, aim, clock=lambda: 0.0, deadline=LONG_S
        )
        if found is None or found.bound is None:
            return None
        if found.nodes is not None:
            return aim, found
        aim = found.bound.value


@pytest.mark.parametrize("phase", [Phase.PLACE, Phase.DISRUPT])
@BRIEF
@given(packing=packings(), data=st.data())
def test_going_from_the_limit_to_the_worse_ends_at_the_true_best(
    phase: Phase, packing: Packing, data: st.DataObject
) -> None:
    """Every step claims that a value cannot be; a wrong one would pass the best by."""
    for asked in _asked(packing, phase, data):
        search = DualSearch(asked.question, _nowhere(packing), lambda: 0.0)

        closed = _close_in(asked.question, search)

        if closed is None:
            continue
        aim, found = closed
        assert found.bound is not None
        assert found.nodes is not None
        assert aim == found.bound.value == asked.best
        asked.answered_by(packing, found.nodes)


@pytest.mark.parametrize("phase", [Phase.PLACE, Phase.DISRUPT])
@BRIEF
@given(packing=packings(), data=st.data())
def test_recombined_patterns_are_an_assignment_as_good_as_was_asked_for(
    phase: Phase, packing: Packing, data: st.DataObject
) -> None:
    """An infeasible assignment would be thrown away, and the time with it."""
    for asked in _asked(packing, phase, data):
        start = _nowhere(packing)
        search = DualSearch(asked.question, start, lambda: 0.0)
        search.run(LONG_S)

        nodes = recombine(search, start, asked.best, clock=lambda: 0.0, deadline=LONG_S)

        if nodes is not None:
            asked.answered_by(packing, nodes)


@pytest.mark.parametrize("phase", [Phase.PLACE, Phase.DISRUPT])
@BRIEF
@given(packing=packings(), data=st.data())
def test_prices_of_an_earlier_question_prove_nothing_false_of_a_later_one(
    phase: Phase, packing: Packing, data: st.DataObject
) -> None:
    """While the search goes on more is reached, and prices are kept to begin with."""
    scores = feasible_scores(packing, Policy.STRICT)
    problem, start = make_problem(packing), _nowhere(packing)
    for tier in range(len(packing.tiers)):
        search = None
        for _ in range(2):
            reached = data.draw(st.sampled_from(sorted(scores)))
            question = Question(problem, tier, phase, reached)
            search = DualSearch(question, start, lambda: 0.0, search)

            bound = search.run(LONG_S, rounds=20)

            best = _best(scores, reached, tier, phase)
            if bound is not None and phase is Phase.DISRUPT:
                assert bound.value <= best
            elif bound is not None:
                assert bound.value >= best


@st.composite
def _cut_nodes(draw: st.DrawFn) -> Packing:
    """Two or three equal nodes, cut into pods without waste, and mixed up a little."""
    room = (draw(st.integers(8, 40)), draw(st.integers(8, 40)))
    sizes = []
    nodes = draw(st.integers(2, 3))
    for _ in range(nodes):
        cut = (draw(st.integers(1, room[0] - 1)), draw(st.integers(1, room[1] - 1)))
        sizes += [cut, (room[0] - cut[0], room[1] - cut[1])]
    wrong = draw(st.sampled_from([0, 1, 2]))
    (a, b), (c, d) = sizes[0], sizes[-1]
    if a > wrong:
        # Still as much in all, but perhaps no longer in pairs that fit.
        sizes[0], sizes[-1] = (a - wrong, b), (c + wrong, d)
    items = tuple(
        Item(f"p{at}", 0, size, tuple(range(nodes)), None)
        for at, size in enumerate(sizes)
    )
    names = tuple(f"n{at}" for at in range(nodes))
    return Packing(names, (room,) * nodes, items, (0,), ())


@BRIEF
@given(packing=_cut_nodes())
def test_nodes_that_can_be_filled_are_not_said_to_be_unfillable(
    packing: Packing,
) -> None:
    """The claim comes from pairs of halves; one overlooked would refute a true plan."""
    total = len(packing.items)
    scores = feasible_scores(packing, Policy.STRICT)
    most = max(one[0].placed for one in scores)
    question = Question(make_problem(packing), 0, Phase.PLACE, min(scores))

    bound = exact_fit_bound(question, total)

    if most == total:
        assert bound is None
    elif bound is not None:
        assert bound.value == total - 1


def test_an_odd_pod_out_is_seen_without_a_search() -> None:
    """Linear programs do not see it: by halves of pods everything fits."""
    sizes = [(3, 7), (7, 4), (4, 6), (6, 3)]
    items = tuple(Item(f"p{at}", 0, s, (0, 1), None) for at, s in enumerate(sizes))
    packing = Packing(("a", "b"), ((10, 10),) * 2, items, (0,), ())
    scores = feasible_scores(packing, Policy.STRICT)
    question = Question(make_problem(packing), 0, Phase.PLACE, min(scores))

    bound = exact_fit_bound(question, 4)

    assert bound is not None
    assert bound.value == 3


def test_where_a_smaller_limit_is_known_already_nothing_is_said() -> None:
    """It could only repeat a worse limit than the known one."""
    items = tuple(Item(f"p{at}", 0, (6, 6), (0, 1), None) for at in range(3))
    packing = Packing(("a", "b"), ((10, 10),) * 2, items, (0,), ())
    scores = feasible_scores(packing, Policy.STRICT)
    question = Question(make_problem(packing), 0, Phase.PLACE, min(scores))

    assert exact_fit_bound(question, 2) is None
