"""Bounds, prices and what closes the last gaps, against trying everything."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from made_packings import Item, packing_of
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

from stowage_optimizer.bounds.aggregate_relaxation import aggregate_bound
from stowage_optimizer.bounds.dual import DualSearch
from stowage_optimizer.bounds.enumeration import Enumeration
from stowage_optimizer.bounds.exact_fit import exact_fit_bound
from stowage_optimizer.bounds.groups import mixes_of
from stowage_optimizer.bounds.knapsack import knapsack_bound
from stowage_optimizer.bounds.phase import Bound, Phase, Question
from stowage_optimizer.bounds.pricing import best_patterns
from stowage_optimizer.bounds.proofs import TierBounds, trivial_bounds
from stowage_optimizer.bounds.tier_program import TierProgram
from stowage_optimizer.model.objective import Score, score
from stowage_optimizer.model.options import Policy, SolveOptions
from stowage_optimizer.model.packing import Packing, as_assignment, as_nodes
from stowage_optimizer.model.problem import Indices, Ints
from stowage_optimizer.model.time_budget import TimeBudget
from stowage_optimizer.search.repair import Repairer
from stowage_optimizer.strategies.lexicographic.prover import Prover
from stowage_optimizer.strategies.lexicographic.shared_state import SharedState, WorkClock

pytestmark = pytest.mark.thorough

Sizes = list[tuple[int, int]]

LONG_S = 5.0
MANY = examples(300)
BRIEF = examples(100)
every_policy = pytest.mark.parametrize("policy", [Policy.STRICT, Policy.PAPER])


def _nowhere(packing: Packing) -> Ints:
    return np.full(len(packing.current), -1)


@dataclass(frozen=True)
class _Asked:
    """A question about a tier, given the score of some assignment, and its answer."""

    question: Question
    best: int

    def not_beyond_the_best(self, bound: Bound | None) -> None:
        """Assert that ``bound`` denies nothing that is possible."""
        if bound is not None:
            over = bound.value - self.best
            assert over <= 0 if self.question.phase is Phase.DISRUPT else over >= 0

    def answered_by(self, packing: Packing, nodes: Indices, policy: Policy) -> None:
        """Assert that ``nodes`` can be carried out, and reach the best there is."""
        tier, phase = self.question.tier, self.question.phase
        assert as_assignment(nodes) in set(feasible_assignments(packing))
        found = score(packing, as_assignment(nodes), policy)
        assert at_least(found, tuple(self.question.reached), tier, EARLIER[phase])
        assert number_of(found, tier, phase) == self.best


def _asked(
    packing: Packing, data: st.DataObject, policy: Policy = Policy.STRICT, phases: tuple[Phase, ...] = tuple(Phase)
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


def _about(packing: Packing, scores: set[Score], reached: Score, tier: int, phase: Phase) -> _Asked:
    return _Asked(Question(packing.problem, tier, phase, reached), best_number(scores, reached, tier, phase))


def _knapsack(question: Question) -> Bound | None:
    return knapsack_bound(question, clock=lambda: 0.0, deadline=1.0)


def _by_kind(question: Question) -> Bound | None:
    first = aggregate_bound(question, lambda: 0.0, 1.0)
    return None if first is None else first.bound


@every_policy
@pytest.mark.parametrize("bound_of", [_knapsack, _by_kind])
@MANY
@given(packing=packings(), data=st.data())
def test_no_assignment_beats_a_limit_on_pods(
    bound_of: Callable[[Question], Bound | None], policy: Policy, packing: Packing, data: st.DataObject
) -> None:
    """A limit below what is possible would certify a bad plan as optimal."""
    for asked in _asked(packing, data, policy, (Phase.KEEP, Phase.PLACE)):
        asked.not_beyond_the_best(bound_of(asked.question))


@every_policy
@MANY
@given(packing=packings(), data=st.data())
def test_no_assignment_beats_the_dual_bound(policy: Policy, packing: Packing, data: st.DataObject) -> None:
    """The strongest limits, and the ones most likely to be wrong by a rounding.

    Phases share a program and have turns in any order; while the search goes on more is reached, and prices are kept to
    begin with. Those at which a search is broken off early prove something too.
    """
    scores = feasible_scores(packing, policy)
    phases = [Phase.PLACE, Phase.DISRUPT, *[Phase.KEEP] * (policy is Policy.STRICT)]
    nowhere = np.full(len(packing.current), -1)
    for tier in range(len(packing.tiers)):
        program = None
        for _ in range(data.draw(st.integers(1, 2))):
            reached = data.draw(st.sampled_from(sorted(scores)))
            asked = [_about(packing, scores, reached, tier, phase) for phase in phases]
            program = TierProgram(asked[0].question, program)
            searches = [DualSearch(one.question, nowhere, lambda: 0.0, program) for one in asked]
            turns = st.lists(
                st.tuples(st.integers(0, len(asked) - 1), st.sampled_from([1, 2, 20, 100])), min_size=1, max_size=6
            )
            for turn, rounds in data.draw(turns):
                bound = searches[turn].run(LONG_S, rounds=rounds)
                asked[turn].not_beyond_the_best(bound)


@every_policy
@examples(200)
@given(packing=packings(), data=st.data())
def test_enumeration_from_any_aim_ends_at_the_true_best_or_above(
    policy: Policy, packing: Packing, data: st.DataObject
) -> None:
    """It claims that nothing better exists, which no later stage would question.

    From the limit of prices each step claims that a value cannot be; a wrong one would pass the best by. Where no node
    is overcommitted, the last limit is the best there is, and the assignment that is returned reaches it.
    """
    for asked in _asked(packing, data, policy):
        question = asked.question
        dual = DualSearch(question, _nowhere(packing), lambda: 0.0).run(LONG_S)
        if dual is None or dual.prices is None:
            continue
        known = number_of(tuple(question.reached), question.tier, question.phase)
        aim = data.draw(st.sampled_from([known, dual.value]))
        enumeration = Enumeration(question, dual.prices)
        while True:
            found = enumeration.reach(aim, clock=lambda: 0.0, deadline=LONG_S)
            if found is None or found.bound is None:
                break
            # What was reached is a floor only if it reaches the earlier phases.
            asked.not_beyond_the_best(found.bound)
            if found.nodes is not None or aim == found.bound.value:
                if not overcommitted(packing) and found.nodes is not None:
                    assert found.bound.value == asked.best
                    asked.answered_by(packing, found.nodes, policy)
                break
            aim = found.bound.value


def _waiting(room: tuple[int, int], nodes: int, sizes: Sizes) -> Packing:
    """Return equal nodes, and a pod that waits of each size."""
    names = tuple(f"n{at}" for at in range(nodes))
    items = tuple(Item(f"p{at}", 0, size, tuple(range(nodes)), None) for at, size in enumerate(sizes))
    return packing_of(names, (room,) * nodes, items, (0,))


@st.composite
def _cut_nodes(draw: st.DrawFn) -> Packing:
    """Two or three equal nodes, cut into pods without waste, and mixed up a little."""
    room = (draw(st.integers(8, 40)), draw(st.integers(8, 40)))
    sizes: Sizes = []
    nodes = draw(st.integers(2, 3))
    for _ in range(nodes):
        cut = (draw(st.integers(1, room[0] - 1)), draw(st.integers(1, room[1] - 1)))
        sizes += [cut, (room[0] - cut[0], room[1] - cut[1])]
    wrong = draw(st.sampled_from([0, 1, 2]))
    (a, b), (c, d) = sizes[0], sizes[-1]
    if a > wrong:
        # Still as much in all, but perhaps no longer in pairs that fit.
        sizes[0], sizes[-1] = (a - wrong, b), (c + wrong, d)
    return _waiting(room, nodes, sizes)


def _unfillable(packing: Packing, known: int) -> tuple[int, int | None]:
    """Return the most pods placed, and the limit that is told where one is known."""
    scores = feasible_scores(packing, Policy.STRICT)
    question = Question(packing.problem, 0, Phase.PLACE, min(scores))
    bound = exact_fit_bound(question, known)
    most = max(one[0].placed for one in scores)
    return most, None if bound is None else bound.value


@BRIEF
@given(packing=_cut_nodes())
def test_nodes_that_can_be_filled_are_not_said_to_be_unfillable(packing: Packing) -> None:
    """The claim comes from pairs of halves; one overlooked would refute a true plan."""
    total = len(packing.current)

    most, told = _unfillable(packing, total)

    assert told is None or most < total == told + 1


@pytest.mark.parametrize(
    ("sizes", "known", "told"),
    [
        # Linear programs do not see it: by halves of pods everything fits.
        pytest.param([(3, 7), (7, 4), (4, 6), (6, 3)], 4, 3, id="an odd pod out"),
        pytest.param([(6, 6)] * 3, 2, None, id="a smaller limit is known already"),
    ],
)
def test_an_odd_pod_out_is_seen_without_a_search(sizes: Sizes, known: int, told: int | None) -> None:
    """Only a better limit than the known one is worth a word."""
    assert _unfillable(_waiting((10, 10), 2, sizes), known)[1] == told


KINDS = 3

of_each = st.lists(st.integers(0, 3), min_size=KINDS, max_size=KINDS)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(
    demand=st.lists(st.integers(0, 5), min_size=2 * KINDS, max_size=2 * KINDS),
    room=st.lists(st.integers(0, 12), min_size=2, max_size=2),
    stay=of_each,
    come=of_each,
    value=st.lists(st.integers(-5, 9), min_size=KINDS, max_size=KINDS),
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

    That holds for every mix, so that one may serve for many nodes. What is found must
    be a content that fits, so that the linear program stays true.
    """
    kinds = np.array(demand).reshape(KINDS, 2)
    worth, found = np.zeros(1, np.int64), np.zeros((1, KINDS, 2), np.int32)

    best_patterns(
        kinds, np.array([room]), np.array([stay], np.int32), np.array([come], np.int32),
        np.array(value), np.full(KINDS, bonus), mixes_of(kinds, np.array([room]))[None],
        np.zeros(1, np.int32), np.array([mix]), slack, budget, worth, found,
    )  # fmt: skip

    twice, most = np.vstack([kinds, kinds]), [*stay, *come]
    prices = np.array([*(one + bonus for one in value), *value])
    every = np.array(list(product(*(range(limit + 1) for limit in most))))
    best = (every[(every @ twice <= room).all(axis=1)] @ prices).max()
    pattern = found[0].T.reshape(-1)
    assert worth[0] >= best
    assert (pattern @ twice <= room).all()
    assert (pattern <= most).all()
    if budget > 20:
        assert pattern @ prices >= worth[0] - slack
        assert worth[0] <= best + slack


MANY_PLANS = examples(800)
PLANS = 5


def _contradicted(bounds: TierBounds, scores: set[Score], reached: Score, tier: int, *, strict: bool) -> list[Phase]:
    """Return the phases whose limit some assignment beats that is as good above."""
    best = {phase: best_number(scores, reached, tier, phase) for phase in Phase}
    beaten = {
        Phase.KEEP: strict and best[Phase.KEEP] > bounds.kept,
        Phase.PLACE: best[Phase.PLACE] > bounds.placed,
        Phase.DISRUPT: best[Phase.DISRUPT] < bounds.disruption,
    }
    return [phase for phase, is_beaten in beaten.items() if is_beaten]


@pytest.mark.parametrize("policy", [Policy.STRICT, Policy.PAPER])
@MANY_PLANS
@given(packing=packings(), data=st.data())
def test_no_limit_outlives_the_plan_that_it_was_proved_for(
    policy: Policy, packing: Packing, data: st.DataObject
) -> None:
    """A plan with a pod more above may move more pods, and then deny less below."""
    strict = policy is Policy.STRICT
    scores = feasible_scores(packing, policy)
    plans = sorted(feasible_assignments(packing), key=lambda plan: score(packing, plan, policy))
    drawn = st.lists(st.integers(0, len(plans) - 1), max_size=PLANS, unique=True)
    shared = SharedState(packing.problem, strict, trivial_bounds(packing))
    repairer = Repairer(shared.problem, strict=strict)
    options = SolveOptions(policy=policy, deterministic=True, time_limit_s=10.0)
    work_clock = WorkClock(lambda: 0.0, deterministic=True)
    budget = TimeBudget.begin(options, lambda: 0.0)
    prover = Prover(shared, packing, budget, work_clock)
    for number in sorted(data.draw(drawn)):
        shared.offer(as_nodes(plans[number]), repairer)
        prover.prove(work_clock.now() + data.draw(st.sampled_from([0.02, 0.2, 1.0])))

        _, nodes, bounds, _ = shared.snapshot()
        reached = score(packing, as_assignment(nodes), policy)
        for tier, own in enumerate(bounds):
            assert not _contradicted(own, scores, reached, tier, strict=strict)
