"""The objective over arrays; `strategies.objective` computes the same item by item."""

from __future__ import annotations

import numpy as np

from stowage_optimizer.search.problem import NOWHERE, Indices, Ints, Problem

Value = tuple[tuple[int, int, int], ...]
"""Kept, placed and stability by tier, highest first; compared lexicographically."""


def value_of(problem: Problem, assignment: Indices, *, strict: bool) -> Value:
    """Return the value of ``assignment``; no item counts as kept unless ``strict``."""
    tier = problem.tier[problem.kind]
    placed = assignment != NOWHERE
    running = problem.home != NOWHERE
    away = running & (assignment != problem.home)

    def count(flags: Indices) -> Ints:
        return np.bincount(tier[flags], minlength=problem.tiers)

    kept = count(running & placed) * int(strict)
    stability = -2 * count(away & placed) - 3 * count(away & ~placed)
    columns = (kept, count(placed).cumsum(), stability.cumsum())
    return tuple(zip(*(column.tolist() for column in columns), strict=True))
