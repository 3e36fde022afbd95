"""Bounds and prices against trying everything."""

from __future__ import annotations

from itertools import product

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

from stowage_optimizer.bounds.dual import dual_bound
from stowage_optimizer.bounds.enumeration import enumeration_bound
from stowage_optimizer.bounds.groups import mixes_of
from stowage_optimizer.bounds.knapsack import knapsack_bound
from stowage_optimizer.bounds.pricing import best_patterns
from stowage_optimizer.bounds.question import Bound, Phase, Question
from stowage_optimizer.model.objective import Score, TierScore, score
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.search.problem import make_problem

EARLIER = {
    Phase.KEEP: (),
    Phase.PLACE: ("kept",),
    Phase.DISRUPT: ("kept", "placed"),
}
POLICIES = [Policy.STRICT, Policy.PAPER]
MANY = settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)


def _best(scores: set[Score], reached: Score, tier: int, phase: Phase) -> int:
    among = [
        one[tier] for one in scores if at_least(one, reached, tier, EARLIER[phase])
    ]
    return max(_number(one, phase) for one in among)


def _number(score: TierScore, phase: Phase) -> int:
    return (score.kept, score.placed, score.stability)[phase.value]


def _ask(packing: Packing, reached: Score, tier: int, phase: Phase) -> Question:
    return Question(make_problem(packing), tier, phase, reached)


def _knapsack(question: Question) -> Bound | None:
    return knapsack_bound(question, clock=lambda: 0.0, deadline=1.0)


@pytest.mark.parametrize("policy", POLICIES)
@MANY
@given(packing=packings(), data=st.data())
def test_no_assignment_beats_the_knapsack(
    policy: Policy, packing: Packing, data: st.DataObject
) -> None:
    """A limit below what is possible would certify a bad plan as optimal.

    What was reached above is that of any assignment, not only of the best: a tier
    is also worked on while those above are still open.
    """
    scores = feasible_scores(packing, policy)
    reached = data.draw(st.sampled_from(sorted(scores)))
    for tier in range(len(packing.tiers)):
        for phase in (Phase.KEEP, Phase.PLACE):
            bound = _knapsack(_ask(packing, reached, tier, phase))

            if policy is Policy.PAPER and phase is Phase.KEEP:
                continue
            if bound is not None:
                assert bound.value >= _best(scores, reached, tier, phase)


@pytest.mark.parametrize("policy", POLICIES)
@MANY
@given(packing=packings(), data=st.data())
def test_no_assignment_beats_the_dual_bound(
    policy: Policy, packing: Packing, data: st.DataObject
) -> None:
    """The strongest limits, and the ones most likely to be wrong by a rounding.

    Patterns to start with are those of any assignment; prices at which the search is
    broken off early prove something too.
    """
    scores = feasible_scores(packing, policy)
    reached = data.draw(st.sampled_from(sorted(scores)))
    rounds = data.draw(st.sampled_from([1, 2, 100]))
    start = np.full(len(packing.items), -1)
    for tier in range(len(packing.tiers)):
        for phase in Phase:
            if policy is Policy.PAPER and phase is Phase.KEEP:
                continue
            question = _ask(packing, reached, tier, phase)

            bound = dual_bound(
                question, start, clock=lambda: 0.0, deadline=1.0, rounds=rounds
            )

            best = _best(scores, reached, tier, phase)
            if bound is not None and phase is Phase.DISRUPT:
                assert bound.value <= -best
            elif bound is not None:
                assert bound.value >= best


@pytest.mark.parametrize("policy", POLICIES)
@settings(MANY, max_examples=150)
@given(packing=packings(), data=st.data())
def test_enumeration_ends_at_the_true_best_or_above(
    policy: Policy, packing: Packing, data: st.DataObject
) -> None:
    """It claims that nothing better exists, which no later stage would question.

    Where no node is overcommitted, its limit is the best there is, and the assignment
    that it returns reaches it.
    """
    scores = feasible_scores(packing, policy)
    reached = data.draw(st.sampled_from(sorted(scores)))
    start = np.full(len(packing.items), -1)
    for tier in range(len(packing.tiers)):
        for phase in Phase:
            if policy is Policy.PAPER and phase is Phase.KEEP:
                continue
            question = _ask(packing, reached, tier, phase)
            dual = dual_bound(question, start, clock=lambda: 0.0, deadline=1.0)
            if dual is None or dual.prices is None:
                continue
            own = _number(reached[tier], phase)
            known = -own if phase is Phase.DISRUPT else own

            found = enumeration_bound(
                question, dual.prices, known, clock=lambda: 0.0, deadline=5.0
            )

            if found is None or found.bound is None:
                continue
            best = _best(scores, reached, tier, phase)
            sign = -1 if phase is Phase.DISRUPT else 1
            # What was reached is a floor only if it reaches the earlier phases.
            assert sign * found.bound.value >= best
            if not overcommitted(packing) and found.nodes is not None:
                assert sign * found.bound.value == best
                nodes = tuple(None if n < 0 else int(n) for n in found.nodes)
                assert nodes in set(feasible_assignments(packing))
                value = score(packing, nodes, policy)
                assert at_least(value, reached, tier, EARLIER[phase])
                assert _number(value[tier], phase) == best


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
    slack: int,
    budget: int,
) -> None:
    """The whole bound rests on this, also where the search is cut off.

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
