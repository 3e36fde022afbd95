"""In which order the arms run: interleaved, so that no arm has the quiet hours."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Turn:
    """One arm's run in one round under one kind of client limits."""

    limits: str
    round_number: int
    arm: str

    @property
    def key(self) -> tuple[str, int, str]:
        """What its record is known by in a bundle."""
        return self.limits, self.round_number, self.arm


def turns(
    limits: Sequence[str], arms: Sequence[str], rounds: int, seed: int
) -> Iterator[Turn]:
    """Yield every run, round by round.

    In a round each arm runs once under each kind of limits. Which one begins is drawn
    for the first round and rotates from then on: over as many rounds as there are arms
    each of them has had every place.
    """
    first = list(arms)
    random.Random(seed).shuffle(first)  # noqa: S311 - an order is no secret
    for number in range(1, rounds + 1):
        ahead = (number - 1) % len(first)
        for kind in limits:
            for arm in first[ahead:] + first[:ahead]:
                yield Turn(kind, number, arm)
