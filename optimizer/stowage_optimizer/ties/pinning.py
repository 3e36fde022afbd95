"""Ties as pins, so that strategies need not know of them: nodes that pods are kept to, or that they stay."""

from collections.abc import Collection
from dataclasses import replace
from random import Random

from stowage_optimizer.assignments.restricting import restricted
from stowage_optimizer.model.budget import Budget
from stowage_optimizer.model.packing import Assignment, Packing


def pinned(packing: Packing, proposal: Assignment, budget: Budget, rng: Random | None) -> Packing:
    """Return ``packing`` without ties, with pods pinned near ``proposal`` instead; see `Tie.pinned`."""
    pins: dict[int, Collection[int]] = {}
    for tie in packing.ties:
        for index, nodes in tie.pinned(packing, proposal, budget, rng).items():
            pins[index] = nodes if index not in pins else frozenset(pins[index]).intersection(nodes)
    stay = {index for index, nodes in pins.items() if not nodes}
    kinds = {one: number for number, one in enumerate(packing.kinds)}
    kind = packing.kind.copy()
    parts: dict[tuple[int, frozenset[int], int | None], int] = {}
    for index, nodes in pins.items():
        if index in stay:
            continue
        home, allowed, number = packing.current[index], frozenset(nodes), int(kind[index])
        # What replicas may come to is looked up once.
        part = number, allowed, None if home in allowed else home
        if part not in parts:
            whole = packing.kinds[number]
            eligible = tuple(one for one in whole.eligible if one in allowed or one == home)
            parts[part] = kinds.setdefault(replace(whole, eligible=eligible), len(kinds))
        kind[index] = parts[part]
    free = replace(packing, kinds=tuple(kinds), kind=kind, ties=())
    return restricted(free, {*range(len(kind))} - stay, packing.current)
