"""The error that a comparison may make, and how much of it each look may spend."""

from __future__ import annotations

ERROR_RATE = 0.05
"""One comparison of an arm with itself in twenty may call a headline better or worse.
"""

FEWEST_ROUNDS = 2
"""Below it there is no spread."""

FIRST_LOOK = 4
"""Rounds before verdicts are asked for after each round: after three a change must be
nine times its spread, after four three times."""


def share_of_look(rounds: int) -> float:
    """Return the allowed error of the look after so many rounds, from the fourth on.

    A half of it is spent at the first look, a sixth at the second, then a twelfth: the
    shares ``1 / (k (k + 1))`` add up to 1 over however many looks there are (error
    spending: Lan and DeMets, "Discrete Sequential Boundaries for Clinical Trials",
    Biometrika 70, 1983). That the looks hang together is not made use of: by
    Bonferroni's inequality the promise holds for any data.
    """
    look = rounds - FIRST_LOOK + 1
    return ERROR_RATE / (look * (look + 1))
