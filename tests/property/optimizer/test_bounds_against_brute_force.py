"""Bounds, prices and what closes the last gaps, against trying everything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from packing_oracle import (
    EARLIER,
    at_least,
    best_number,
    feasible_assignments,
    feasible_scores,
    number_of,
    overcommitted,
    packings,
)

from stowage_optimizer.bounds.by_kind import limit_by_kind
from stowage_optimizer.bounds.dual import DualSearch
from stowage_optimizer.bounds.enumeration import Enumerated, Enumeration, recombine
from stowage_optimizer.bounds.exact_fit import exact_fit_bound
from stowage_optimizer.bounds.groups import mixes_of
from stowage_optimizer.bounds.knapsack import knapsack_bound
from stowage_optimizer.bounds.pricing import best_patterns
from stowage_optimizer.bounds.question import Phase, Question
from stowage_optimizer.bounds.tier_program import TierProgram
from stowage_optimizer.model.objective import Score, score
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Item, Packing, packing_of
from stowage_optimizer.model.problem import Indices, Ints

LONG_S = 5.0
MANY = settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)
BRIEF = settings(MANY, max_examples=100)
every_policy = pytest.mark.parametrize("policy", [Policy.STRICT, Policy.PAPER])
PRICED = pytest.mark.parametrize("phase", [Phase.PLACE, Phase.DISRUPT])


def _nowhere(packing: Packing) -> Ints:
    return np.full(len(packing.current), -1)


def _named(nodes: Indices) -> tuple[int | None, ...]:
    return tuple(None if node < 0 else int(node) for node in nodes)


@dataclass(frozen=True)
class _Asked:
    """A question about a tier, given the score of some assignment, and its answer."""

    question: Question
    best: int

    def not_beyond_the_best(self, limit: int) -> None:
        """Assert that ``limit`` denies nothing that is possible."""
        if self.question.phase is Phase.DISRUPT:
            assert limit <= self.best
        else:
            assert limit >= self.best

    def answered_by(self, packing: Packing, nodes: Indices, policy: Policy) -> None:
        """Assert that ``nodes`` can be carried out, and reach the best there is."""
        tier, phase = self.question.tier, self.question.phase
        assert _named(nodes) in set(feasible_assignments(packing))
        found = score(packing, _named(nodes), policy)
        assert at_least(found, tuple(self.question.reached), tier, EARLIER[phase])
        assert number_of(found, tier, phase) == self.best


def _asked(
    packing: Packing,
    data: st.DataObject,
    policy: Policy = Policy.STRICT,
    phases: tuple[Phase, ...] = tuple(Phase),
) -> Iterator[_Asked]:
    """Yield the questions about each tier.

    What was reached above is that of any assignment, not only of the best: a tier
    is also worked on while those above are still open.
    """
    scores = feasible_scores(packing, policy)
    reached = data.draw(st.sampled_from(sorted(scores)))
    for tier in range(len(packing.tiers)):
        for phase in phases:
            if policy is Policy.STRICT or phase is not Phase.KEEP:
                yield _about(packing, scores, reached, tier, phase)


def _about(
    packing: Packing, scores: set[Score], reached: Score, tier: int, phase: Phase
) -> _Asked:
    return _Asked(
        Question(packing.problem, tier, phase, reached),
        best_number(scores, reached, tier, phase),
    )


@every_policy
@MANY
@given(packing=packings(), data=st.data())
def test_no_assignment_beats_the_knapsack(
    policy: Policy, packing: Packing, data: st.DataObject
) -> None:
    """A limit below what is possible would certify a bad plan as optimal."""
    for asked in _asked(packing, data, policy, (Phase.KEEP, Phase.PLACE)):
        bound = knapsack_bound(asked.question, clock=lambda: 0.0, deadline=1.0)

        if bound is not None:
            asked.not_beyond_the_best(bound.value)


@every_policy
@MANY
@given(packing=packings(), data=st.data())
def test_no_assignment_beats_what_kinds_of_nodes_prove(
    policy: Policy, packing: Packing, data: st.DataObject
) -> None:
    """It leaves out all that is about single nodes, which may only make it looser."""
    for asked in _asked(packing, data, policy, (Phase.KEEP, Phase.PLACE)):
        first = limit_by_kind(asked.question, lambda: 0.0, 1.0)

        if first is not None:
            asked.not_beyond_the_best(first.bound.value)


@every_policy
@MANY
@given(packing=packings(), data=st.data())
def test_no_assignment_beats_the_dual_bound(
    policy: Policy, packing: Packing, data: st.DataObject
) -> None:
    """The strongest limits, and the ones most likely to be wrong by a rounding.

    Patterns to start with are those of any assignment; prices at which the search is
    broken off early prove something too.
    """
    rounds = data.draw(st.sampled_from([1, 2, 100]))
    for asked in _asked(packing, data, policy):
        search = DualSearch(asked.question, _nowhere(packing), lambda: 0.0)

        bound = search.run(1.0, rounds=rounds)

        if bound is not None:
            asked.not_beyond_the_best(bound.value)


@every_policy
@BRIEF
@given(packing=packings(), data=st.data())
def test_phases_that_share_a_program_prove_nothing_false(
    policy: Policy, packing: Packing, data: st.DataObject
) -> None:
    """Each has requirements of its own, and they have turns in any order."""
    scores = feasible_scores(packing, policy)
    reached = data.draw(st.sampled_from(sorted(scores)))
    phases = [Phase.PLACE, Phase.DISRUPT, *[Phase.KEEP] * (policy is Policy.STRICT)]
    for tier in range(len(packing.tiers)):
        asked = [_about(packing, scores, reached, tier, phase) for phase in phases]
        program = TierProgram(asked[0].question)
        nowhere = _nowhere(packing)
        searches = [
            DualSearch(one.question, nowhere, lambda: 0.0, program) for one in asked
        ]
        for turn in data.draw(st.lists(st.integers(0, len(asked) - 1), max_size=6)):
            bound = searches[turn].run(LONG_S, rounds=2)

            if bound is not None:
                asked[turn].not_beyond_the_best(bound.value)


@PRICED
@BRIEF
@given(packing=packings(), data=st.data())
def test_prices_of_an_earlier_question_prove_nothing_false_of_a_later_one(
    phase: Phase, packing: Packing, data: st.DataObject
) -> None:
    """While the search goes on more is reached, and prices are kept to begin with."""
    scores = feasible_scores(packing, Policy.STRICT)
    for tier in range(len(packing.tiers)):
        program = None
        for _ in range(2):
            reached = data.draw(st.sampled_from(sorted(scores)))
            asked = _about(packing, scores, reached, tier, phase)
            program = TierProgram(asked.question, program)
            nowhere = _nowhere(packing)
            search = DualSearch(asked.question, nowhere, lambda: 0.0, program)

            bound = search.run(LONG_S, rounds=20)

            if bound is not None:
                asked.not_beyond_the_best(bound.value)


@every_policy
@settings(MANY, max_examples=150)
@given(packing=packings(), data=st.data())
def test_enumeration_ends_at_the_true_best_or_above(
    policy: Policy, packing: Packing, data: st.DataObject
) -> None:
    """It claims that nothing better exists, which no later stage would question.

    Where no node is overcommitted, its limit is the best there is, and the assignment
    that it returns reaches it.
    """
    for asked in _asked(packing, data, policy):
        question = asked.question
        dual = DualSearch(question, _nowhere(packing), lambda: 0.0).run(1.0)
        if dual is None or dual.prices is None:
            continue
        known = number_of(tuple(question.reached), question.tier, question.phase)

        found = Enumeration(question, dual.prices).reach(
            known, clock=lambda: 0.0, deadline=LONG_S
        )

        if found is None or found.bound is None:
            continue
        # What was reached is a floor only if it reaches the earlier phases.
        asked.not_beyond_the_best(found.bound.value)
        if not overcommitted(packing) and found.nodes is not None:
            assert found.bound.value == asked.best
            asked.answered_by(packing, found.nodes, policy)


def _close_in(question: Question, search: DualSearch) -> tuple[int, Enumerated] | None:
    """Ask for the limit, then for the next worse value, until one is reached."""
    dual = search.run(LONG_S)
    if dual is None or dual.prices is None:
        return None
    aim, enumeration = dual.value, Enumeration(question, dual.prices)
    while True:
        found = enumeration.reach(aim, clock=lambda: 0.0, deadline=LONG_S)
        if found is None or found.bound is None:
            return None
        if found.nodes is not None:
            return aim, found
        aim = found.bound.value


@PRICED
@BRIEF
@given(packing=packings(), data=st.data())
def test_going_from_the_limit_to_the_worse_ends_at_the_true_best(
    phase: Phase, packing: Packing, data: st.DataObject
) -> None:
    """Every step claims that a value cannot be; a wrong one would pass the best by."""
    if overcommitted(packing):
        return
    for asked in _asked(packing, data, phases=(phase,)):
        search = DualSearch(asked.question, _nowhere(packing), lambda: 0.0)

        closed = _close_in(asked.question, search)

        if closed is None:
            continue
        aim, found = closed
        assert found.bound is not None
        assert found.nodes is not None
        assert aim == found.bound.value == asked.best
        asked.answered_by(packing, found.nodes, Policy.STRICT)


@PRICED
@BRIEF
@given(packing=packings(), data=st.data())
def test_recombined_patterns_are_an_assignment_as_good_as_was_asked_for(
    phase: Phase, packing: Packing, data: st.DataObject
) -> None:
    """An infeasible assignment would be thrown away, and the time with it."""
    if overcommitted(packing):
        return
    for asked in _asked(packing, data, phases=(phase,)):
        start = _nowhere(packing)
        search = DualSearch(asked.question, start, lambda: 0.0)
        search.run(LONG_S)

        nodes = recombine(search, start, asked.best, clock=lambda: 0.0, deadline=LONG_S)

        if nodes is not None:
            asked.answered_by(packing, nodes, Policy.STRICT)


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
    return packing_of(names, (room,) * nodes, items, (0,))


@BRIEF
@given(packing=_cut_nodes())
def test_nodes_that_can_be_filled_are_not_said_to_be_unfillable(
    packing: Packing,
) -> None:
    """The claim comes from pairs of halves; one overlooked would refute a true plan."""
    total = len(packing.current)
    scores = feasible_scores(packing, Policy.STRICT)
    most = max(one[0].placed for one in scores)
    question = Question(packing.problem, 0, Phase.PLACE, min(scores))

    bound = exact_fit_bound(question, total)

    if most == total:
        assert bound is None
    elif bound is not None:
        assert bound.value == total - 1


def test_an_odd_pod_out_is_seen_without_a_search() -> None:
    """Linear programs do not see it: by halves of pods everything fits."""
    sizes = [(3, 7), (7, 4), (4, 6), (6, 3)]
    items = tuple(Item(f"p{at}", 0, s, (0, 1), None) for at, s in enumerate(sizes))
    packing = packing_of(("a", "b"), ((10, 10),) * 2, items, (0,))
    scores = feasible_scores(packing, Policy.STRICT)
    question = Question(packing.problem, 0, Phase.PLACE, min(scores))

    bound = exact_fit_bound(question, 4)

    assert bound is not None
    assert bound.value == 3


def test_where_a_smaller_limit_is_known_already_nothing_is_said() -> None:
    """It could only repeat a worse limit than the known one."""
    items = tuple(Item(f"p{at}", 0, (6, 6), (0, 1), None) for at in range(3))
    packing = packing_of(("a", "b"), ((10, 10),) * 2, items, (0,))
    scores = feasible_scores(packing, Policy.STRICT)
    question = Question(packing.problem, 0, Phase.PLACE, min(scores))

    assert exact_fit_bound(question, 2) is None


WIDTH = 2
KINDS = 3

amounts = st.lists(st.integers(0, 3), min_size=KINDS, max_size=KINDS)
values = st.lists(st.integers(-5, 9), min_size=KINDS, max_size=KINDS)


def _best_pattern(
    demand: np.ndarray, room: np.ndarray, most: np.ndarray, value: np.ndarray
) -> int:
    best = 0
    for pattern in product(*(range(limit + 1) for limit in most)):
        if (np.array(pattern) @ demand <= room).all():
            best = max(best, int(np.array(pattern) @ value))
    return best


@settings(max_examples=400, deadline=None, derandomize=True)
@given(
    demand=st.lists(st.integers(0, 5), min_size=6, max_size=6),
    room=st.lists(st.integers(0, 12), min_size=2, max_size=2),
    stay=amounts,
    come=amounts,
    value=values,
    bonus=st.integers(0, 4),
    mix=st.integers(-1, 2),
    slack=st.sampled_from([0, 3]),
    budget=st.sampled_from([1, 20, 10**6]),
)
def test_no_content_of_a_node_is_worth_more_than_its_limit(
    *,
    demand: list[int],
    room: list[int],
    stay: list[int],
    come: list[int],
    value: list[int],
    bonus: int,
    mix: int,
    slack: int,
    budget: int,
) -> None:
    """The whole bound rests on this, also where the search is cut off.

    That holds for every mix, so that one may serve for many nodes.

    What is found must be a content that fits, so that the linear program stays true.
    """
    kinds = np.array(demand).reshape(KINDS, WIDTH)
    worth, found = np.zeros(1, np.int64), np.zeros((1, KINDS, 2), np.int32)

    best_patterns(
        kinds,
        np.array([room]),
        np.array([stay], np.int32),
        np.array([come], np.int32),
        np.array(value),
        np.full(KINDS, bonus),
        mixes_of(kinds, np.array([room])),
        np.zeros(1, np.int32),
        np.array([mix]),
        slack,
        budget,
        worth,
        found,
    )

    twice = np.vstack([kinds, kinds])
    prices = np.array([*(one + bonus for one in value), *value])
    best = _best_pattern(twice, np.array(room), np.array([*stay, *come]), prices)
    pattern = found[0].T.reshape(-1)
    assert worth[0] >= best
    assert (pattern @ twice <= room).all()
    assert (pattern <= [*stay, *come]).all()
    if budget > 20:
        assert pattern @ prices >= worth[0] - slack
        assert worth[0] <= best + slack
