"""Go's seeded generator (`math/rand`), so that published seeds give the published orders of arrival."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

LENGTH, TAP = 607, 273
"""Each number is the sum of those so many before it, modulo 2^64."""

STEPS = 7_800_000_000_000
"""The state that seeds are mixed into: so many numbers after seed 1 (`gen_cooked.go`)."""

LEHMER, MODULUS = 48271, 2**31 - 1
SKIPPED = 20
ZERO_SEED = 89482311

_WORD = 2**64 - 1


class GoRandom:
    """``rand.New(rand.NewSource(seed))``: the same calls return the same numbers as in Go."""

    def __init__(self, seed: int) -> None:
        self._state = [one ^ mixed for one, mixed in zip(_expand(seed, 40, 20), _mixed_in(), strict=True)]
        self._tap, self._feed = 0, LENGTH - TAP

    def int63(self) -> int:
        """Return a number below 2^63."""
        self._tap = (self._tap - 1) % LENGTH
        self._feed = (self._feed - 1) % LENGTH
        number = (self._state[self._feed] + self._state[self._tap]) & _WORD
        self._state[self._feed] = number
        return number & (2**63 - 1)

    def below(self, limit: int) -> int:
        """Return a number below ``limit``, which is at most 2^31 - 1, as ``Intn`` does."""
        if limit & (limit - 1) == 0:
            return (self.int63() >> 32) & (limit - 1)
        most = 2**31 - 1 - 2**31 % limit
        while (number := self.int63() >> 32) > most:
            pass
        return number % limit

    def shuffle(self, items: list[Any]) -> None:
        """Put ``items`` in the order of ``Shuffle``."""
        for last in range(len(items) - 1, 0, -1):
            other = self._below_by_product(last + 1)
            items[last], items[other] = items[other], items[last]

    def permutation(self, number: int) -> list[int]:
        """Return the numbers below ``number`` in the order of ``Perm``."""
        found: list[int] = []
        for last in range(number):
            other = self.below(last + 1)
            found.append(last)
            found[last], found[other] = found[other], last
        return found

    def _below_by_product(self, limit: int) -> int:
        threshold = 2**32 % limit
        while True:
            product = (self.int63() >> 31) * limit
            if product & (2**32 - 1) >= threshold:
                return product >> 32


def _expand(seed: int, first: int, second: int) -> list[int]:
    """Return a state from a seed, three numbers of a Lehmer generator in each word."""
    number = seed % MODULUS or ZERO_SEED
    drawn = []
    for _ in range(SKIPPED + 3 * LENGTH):
        number = LEHMER * number % MODULUS
        drawn.append(number)
    words = zip(*(drawn[SKIPPED + part :: 3] for part in range(3)), strict=True)
    return [(one << first & _WORD) ^ (two << second) ^ three for one, two, three in words]


@cache
def _mixed_in() -> list[int]:
    """Return the state after `STEPS` numbers, by the recurrence's polynomial: x^607 = x^334 + 1."""
    power = _power(STEPS)
    newest = LENGTH - TAP - 1
    state = _expand(1, 20, 10)
    # Oldest first, and once around again.
    sequence = [state[(newest - number) % LENGTH] for number in range(LENGTH)]
    for number in range(LENGTH):
        sequence.append((sequence[number] + sequence[number + LENGTH - TAP]) & _WORD)
    later = np.convolve(power[::-1], np.array(sequence, np.uint64))[LENGTH - 1 :]
    places = (newest - np.arange(LENGTH) - STEPS) % LENGTH
    return [int(later[one]) for one in np.argsort(places)]


def _power(exponent: int) -> NDArray[np.uint64]:
    """Return the coefficients of x to a power, lowest first, modulo the polynomial and 2^64."""
    found = np.zeros(LENGTH, np.uint64)
    found[0] = 1
    for bit in f"{exponent:b}":
        square = np.convolve(found, found)
        if bit == "1":
            square = np.concatenate([np.zeros(1, np.uint64), square])
        # Highest first, and no more at once than become lower in one step.
        while (size := len(square)) > LENGTH:
            first = max(LENGTH, size - TAP)
            square[first - LENGTH : size - LENGTH] += square[first:]
            square[first - TAP : size - TAP] += square[first:]
            square = square[:first]
        found = square
    return found
