"""The most that one node can hold, by value: in whole numbers, and exact wherever that can be found."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import gcd

import numpy as np

SHARES = 8
"""Steps by which weight is shifted from one resource to another."""

MOST_MIXED = 4
"""Resources, the scarcest, that are mixed with each other."""

MOST_STEPS = 100_000
"""Steps after which the search gives up on a node; a fifth of a second or so."""

CELLS = 2_000_000
"""Amounts of room that are told apart where the search gives up: a quarter of a second."""

OVERFLOW = 2**62
"""Values from here on are too large for that."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Up to ``most`` pods that are worth ``value`` and need ``need`` each."""

    value: int
    need: tuple[int, ...]
    most: int


def most_valuable(
    choices: Sequence[Choice], room: Sequence[int], slack: int, *, steps: int = MOST_STEPS, cells: int = CELLS
) -> int:
    """Return a number that no content of the node exceeds.

    It is at most ``slack`` above the most valuable one's, unless the search gives up on the
    node and the pods' needs are no multiples of units as large as ``cells`` asks for.

    Parameters
    ----------
    room
        Room by resource; a content fits if it fits in each.
    steps, cells
        What the search may take, and how many amounts of room are told apart after it.
    """
    useful = []
    for one in choices:
        most = min([one.most, *_fitting(one.need, room)])
        if one.value > 0 and most > 0:
            useful.append(Choice(one.value, one.need, most))
    useful, room = _scarce(useful, room)
    if not room:
        return sum(one.value * one.most for one in useful)
    factors = min(_factors(useful, room), key=lambda way: _worth(useful, way, room))
    search = _Search(_dense(useful, factors), factors, slack, steps)
    search.explore(0, 0, list(room))
    if search.steps <= steps:
        return search.best + slack
    return min(_worth(useful, factors, room), _most_in_units(useful, room, cells))


def _most_in_units(choices: Sequence[Choice], room: Sequence[int], most_cells: int) -> int:
    """Return the most that fits where needs and room are rounded down to units, larger ones of what is less scarce."""
    total = sum(one.value * one.most for one in choices)
    if total >= OVERFLOW:
        return total
    needs = list(zip(*(one.need for one in choices), strict=True))
    units, cells = [max(1, gcd(*need)) for need in needs], 1
    for at in _scarcest_first(choices, room):
        while cells * (room[at] // units[at] + 1) > most_cells:
            units[at] *= 2
        cells *= room[at] // units[at] + 1
    most = np.zeros([left // unit + 1 for left, unit in zip(room, units, strict=True)], np.int64)
    for one in choices:
        for number in _parts(one.most):
            taken = [number * (need // unit) for need, unit in zip(one.need, units, strict=True)]
            more = most[tuple(slice(None, -some or None) for some in taken)] + number * one.value
            beside = most[tuple(slice(some, None) for some in taken)]
            np.maximum(beside, more, out=beside)
    return int(most.flat[-1])


def _parts(most: int) -> Iterator[int]:
    """Yield numbers of which some sum up to each number up to ``most``, and none to more."""
    part = 1
    while most > 0:
        yield min(part, most)
        most -= part
        part *= 2


def _scarce(choices: Sequence[Choice], room: Sequence[int]) -> tuple[list[Choice], list[int]]:
    """Leave out resources of which there is enough for all pods at once."""
    kept = [at for at, left in enumerate(room) if sum(one.need[at] * one.most for one in choices) > left]
    fewer = [Choice(one.value, tuple(one.need[at] for at in kept), one.most) for one in choices]
    return fewer, [room[at] for at in kept]


def _fitting(need: Sequence[int], room: Sequence[int]) -> Iterator[int]:
    return (left // wanted for wanted, left in zip(need, room, strict=True) if wanted)


def _factors(choices: Sequence[Choice], room: Sequence[int]) -> list[tuple[int, ...]]:
    """Return ways to add up resources to one, in whole numbers."""
    unit = max(1, *room) * 1024
    equal = [unit // max(1, left) for left in room]
    alone = [_alone(one, factor, len(room)) for one, factor in enumerate(equal)]
    scarcest = _scarcest_first(choices, room)
    mixed = [
        tuple(share * a + (SHARES - share) * b for a, b in zip(alone[one], alone[other], strict=True))
        for one, other in combinations(scarcest[:MOST_MIXED], 2)
        for share in range(1, SHARES)
    ]
    return [tuple(equal), *alone, *mixed]


def _alone(one: int, factor: int, resources: int) -> tuple[int, ...]:
    return tuple(factor * (at == one) for at in range(resources))


def _scarcest_first(choices: Sequence[Choice], room: Sequence[int]) -> list[int]:
    """Return the resources, first the one of which there is room for the least value."""
    return sorted(range(len(room)), key=lambda one: _worth(choices, _alone(one, 1, len(room)), room))


def _weight(need: Sequence[int], factors: Sequence[int]) -> int:
    return sum(a * b for a, b in zip(need, factors, strict=True))


def _dense(choices: Sequence[Choice], factors: Sequence[int]) -> list[Choice]:
    """Sort by value per weight, the most first; what weighs nothing comes before."""

    def density(one: Choice) -> float:
        weight = _weight(one.need, factors)
        return one.value / weight if weight else float("inf")

    ordered = sorted(choices, key=density, reverse=True)
    # Division rounds: neighbours are put right by multiplication.
    for end in range(1, len(ordered)):
        at = end
        while at and _denser(ordered[at], ordered[at - 1], factors):
            ordered[at], ordered[at - 1] = ordered[at - 1], ordered[at]
            at -= 1
    return ordered


def _denser(one: Choice, other: Choice, factors: Sequence[int]) -> bool:
    mine = one.value * _weight(other.need, factors)
    return mine > other.value * _weight(one.need, factors)


def _worth(choices: Sequence[Choice], factors: Sequence[int], room: Sequence[int]) -> int:
    """Return what fits if pods could be cut up and resources were one."""
    rest, value = _weight(room, factors), 0
    for one in _dense(choices, factors):
        weight = _weight(one.need, factors)
        if weight * one.most > rest:
            return value + one.value * rest // weight
        rest -= weight * one.most
        value += one.value * one.most
    return value


@dataclass(slots=True)
class _Search:
    ordered: list[Choice]
    factors: Sequence[int]
    slack: int
    most_steps: int
    best: int = 0
    steps: int = 0
    _weights: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._weights = [_weight(one.need, self.factors) for one in self.ordered]

    def explore(self, start: int, value: int, left: list[int]) -> None:
        """Try every number of every choice from ``start`` on that may still help."""
        self.best = max(self.best, value)
        for at in range(start, len(self.ordered)):
            if self._limit(at, value, left) <= self.best + self.slack:
                return
            one = self.ordered[at]
            most = min([one.most, *_fitting(one.need, left)])
            for number in range(most, 0, -1):
                if self.steps > self.most_steps:
                    return
                rest = [amount - number * wanted for amount, wanted in zip(left, one.need, strict=True)]
                self.explore(at + 1, value + number * one.value, rest)

    def _limit(self, start: int, value: int, left: list[int]) -> int:
        rest = _weight(left, self.factors)
        for at in range(start, len(self.ordered)):
            self.steps += 1
            one, weight = self.ordered[at], self._weights[at]
            if any(n > room for n, room in zip(one.need, left, strict=True)):
                continue
            if weight * one.most > rest:
                return value + one.value * rest // weight
            rest -= weight * one.most
            value += one.value * one.most
        return value
