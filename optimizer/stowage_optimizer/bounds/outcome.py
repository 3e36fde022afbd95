"""Between the phases' own numbers and the sums that are maximised."""

from __future__ import annotations

from stowage_optimizer.bounds.prices import SCALE
from stowage_optimizer.bounds.question import Phase, Question
from stowage_optimizer.bounds.scope import Scope


def from_maximum(question: Question, scope: Scope, bound: int) -> int:
    """Return the limit in the phase's numbers.

    Parameters
    ----------
    question, scope
        What was asked.
    bound
        No assignment in question has more, in parts of `SCALE`, without the
        objective's constant.
    """
    value = bound // SCALE + scope.objective.constant
    if question.phase is not Phase.DISRUPT:
        return value
    return _possible(question, max(0, -value))


def to_maximum(question: Question, scope: Scope, value: int) -> int:
    """Return the largest sum that proves ``value``, without the constant."""
    if question.phase is not Phase.DISRUPT:
        return value - scope.objective.constant
    least = value
    if value and value % 2 == 0 and (value == 2 or all_placed(question)):  # noqa: PLR2004
        least = value - 1
    return -least - scope.objective.constant


def next_worse(question: Question, value: int) -> int:
    """Return the value that comes after ``value``, in the phase's numbers."""
    if question.phase is not Phase.DISRUPT:
        return value - 1
    return _possible(question, value + 1)


def _possible(question: Question, disruption: int) -> int:
    """Return the least disruption from ``disruption`` on that can be."""
    # Moves cost 2, evictions 3: nothing costs 1, and only evictions make it odd.
    odd = disruption % 2 == 1
    if odd and (disruption == 1 or all_placed(question)):
        return disruption + 1
    return disruption


def all_placed(question: Question) -> bool:
    """Return whether all pods of the tier have nodes in each assignment in question."""
    problem = question.problem
    total = int((problem.tier[problem.kind] <= question.tier).sum())
    return question.reached[question.tier].placed == total
