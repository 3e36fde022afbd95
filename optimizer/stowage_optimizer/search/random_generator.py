"""Random numbers inside compiled loops: xorshift64, its state in one word."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stowage_optimizer.search.compiling import inlined

RandomGenerator = NDArray[np.uint64]
"""State of a generator, shape ``(1,)``, never 0."""

_GOLDEN = 0x9E3779B97F4A7C15
_WORD = 2**64 - 1


def make_generator(seed: int) -> RandomGenerator:
    """Return a generator; different seeds give unrelated sequences."""
    word = (seed + 1) * _GOLDEN & _WORD
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & _WORD
    return np.array([(word ^ (word >> 27)) or _GOLDEN], np.uint64)


@inlined
def random_bits(rng: RandomGenerator) -> int:
    """Return a number of 32 random bits."""
    word = rng[0]
    word ^= word << np.uint64(13)
    word ^= word >> np.uint64(7)
    word ^= word << np.uint64(17)
    rng[0] = word
    # Not int(), which would keep it unsigned and make floats of mixed sums.
    return np.int64(word >> np.uint64(32))  # type: ignore[return-value]


@inlined
def below(rng: RandomGenerator, limit: int) -> int:
    """Return an integer in [0, ``limit``)."""
    return (random_bits(rng) * limit) >> 32


@inlined
def uniform(rng: RandomGenerator) -> float:
    """Return a number in [0, 1)."""
    return random_bits(rng) * (1.0 / 4294967296.0)
