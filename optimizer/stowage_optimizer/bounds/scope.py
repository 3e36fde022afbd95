"""What of a problem a question is about: the pods that count and are not settled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stowage_optimizer.bounds.linear import Linear, Members, objective, requirements
from stowage_optimizer.bounds.question import Question
from stowage_optimizer.search.problem import Flags, Ints, Problem


@dataclass(frozen=True, slots=True)
class Scope:
    """The pods of the question's tiers, without those that cannot but stay at home.

    Where the tiers above are reached without any disruption, their running pods stay at
    home in every assignment that the question is about. Such pods are taken out, with
    their room.

    Parameters
    ----------
    problem
        The whole problem.
    items
        Items in scope, shape ``(n,)``.
    kind_of
        Index into ``kinds`` by item in scope, shape ``(n,)``.
    kinds
        The problem's kinds that have items in scope, ascending, shape ``(kinds,)``.
    demand
        Shape ``(kinds, dimensions)``.
    count, running
        Items in scope, and those of them that run, by kind, shape ``(kinds,)``.
    free
        Room that newcomers find when no item in scope is anywhere, shape ``(nodes,
        dimensions)``; may be negative.
    room
        What items in scope take of a node at most, shape ``(nodes, dimensions)``:
        ``free``, or on an overcommitted node what those at home take now.
    objective
        What is maximised.
    requirements
        What must be reached.
    """

    problem: Problem
    items: Ints
    kind_of: Ints
    kinds: Ints
    demand: Ints
    count: Ints
    running: Ints
    free: Ints
    room: Ints
    objective: Linear
    requirements: tuple[Linear, ...]

    @property
    def home(self) -> Ints:
        """Node of each item in scope, negative while pending, shape ``(n,)``."""
        return self.problem.home[self.items].astype(np.int64)


def make_scope(question: Question) -> Scope:
    """Return the scope of ``question``."""
    problem = question.problem
    tier_of = problem.tier[problem.kind].astype(np.int64)
    counts = tier_of <= question.tier
    settled = counts & (tier_of < _undisrupted_tiers(question)) & (problem.home >= 0)
    free = problem.room - _load(problem, np.flatnonzero(settled))
    items = np.flatnonzero(counts & ~settled)
    room = np.maximum(free, _load(problem, items[problem.home[items] >= 0]))
    kinds, kind_of = np.unique(problem.kind[items], return_inverse=True)
    runs = problem.home[items] >= 0
    running = np.bincount(kind_of[runs], minlength=len(kinds)).astype(np.int64)
    members = Members(
        tier=problem.tier[kinds].astype(np.int64),
        running=running,
        settled=np.bincount(tier_of[settled], minlength=problem.tiers),
    )
    return Scope(
        problem=problem,
        items=items,
        kind_of=kind_of,
        kinds=kinds.astype(np.int64),
        demand=problem.demand[kinds],
        count=np.bincount(kind_of, minlength=len(kinds)).astype(np.int64),
        running=running,
        free=free,
        room=room,
        objective=objective(question, members),
        requirements=tuple(requirements(question, members)),
    )


def arrivals(scope: Scope) -> Flags:
    """Return which kinds may newly come to which nodes, shape ``(nodes, kinds)``.

    A pod that comes must fit beside those that certainly stay.
    """
    problem = scope.problem
    allowed = problem.allowed[problem.mask[scope.kinds]].T.copy()
    for dimension in range(scope.demand.shape[1]):
        wanted = scope.demand[:, dimension]
        allowed &= (wanted <= scope.free[:, dimension, None]) | (wanted == 0)
    return allowed


def _undisrupted_tiers(question: Question) -> int:
    """Return how many tiers, from the highest, are reached without disruption."""
    count = 0
    while count < question.tier and question.reached[count].stability == 0:
        count += 1
    return count


def _load(problem: Problem, running: Ints) -> Ints:
    load = np.zeros_like(problem.room)
    np.add.at(load, problem.home[running], problem.demand[problem.kind[running]])
    return load
