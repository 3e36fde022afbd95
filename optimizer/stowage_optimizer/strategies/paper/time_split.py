"""How the time limit is shared between tiers and phases (``get_timeout``).

A share alpha of the limit is reserved in equal parts for the tiers, each part in halves
for its two phases. The rest, and what earlier phases saved, is a pool from which the
current phase may take.
"""

from __future__ import annotations

from dataclasses import dataclass, field

HALF = 0.5
"""Part of a tier's reserve that each of the paper's two phases has."""


@dataclass(slots=True)
class TimeSplit:
    """The time left, in seconds or in deterministic steps.

    Parameters
    ----------
    total
        The whole limit.
    alpha
        Share of it that is reserved for the tiers.
    tiers
        Number of tiers.
    """

    total: float
    alpha: float
    tiers: int
    _pool: float = field(init=False)

    def __post_init__(self) -> None:
        self._pool = (1 - self.alpha) * self.total

    def phase(self, share: float = HALF) -> float:
        """Return what the next phase may use: its part of the reserve, and the pool.

        Parameters
        ----------
        share
            The phase's part of its tier's reserve.
        """
        return share * self._reserve() + self._pool

    def spent(self, amount: float, share: float = HALF) -> None:
        """Charge ``amount`` to the phase that ended; what it saved joins the pool."""
        self._pool = max(0.0, self._pool + share * self._reserve() - amount)

    def _reserve(self) -> float:
        return self.alpha * self.total / max(1, self.tiers)
