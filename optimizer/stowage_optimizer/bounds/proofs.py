"""What is proved of each tier."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import floor

import numpy as np

from stowage_optimizer.model.certificate import Certificate, DualBound, ProofMethod, ProofStatus
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.problem import NOWHERE

ROUNDING = 1e-6
"""Slack before a bound that comes as a float is rounded down to an integer."""


@dataclass(frozen=True, slots=True)
class Proof:
    """How a bound is proved.

    Parameters
    ----------
    dual
        The prices of a dual bound, if they are to be reported.
    """

    method: ProofMethod
    dual: DualBound | None = None

    def certify(self, *, reached: bool) -> Certificate:
        """Return the certificate of the bound, given whether it is reached."""
        status = ProofStatus.PROVED if reached else ProofStatus.BOUND
        if not reached and self.method is ProofMethod.TRIVIAL:
            status = ProofStatus.GAP
        return Certificate(status, self.method, self.dual)


TRIVIAL = Proof(ProofMethod.TRIVIAL)
"""Every pod has a node, or nothing is disrupted."""


@dataclass(slots=True)
class TierBounds:
    """Proved bounds of one tier, given what the tiers above reached.

    Parameters
    ----------
    running
        Running items of exactly this priority: the bound on those that stay placed.
    kept
        Proved bound on the running items of this priority that keep a node.
    placed
        Proved bound on what the items placed count, of this priority and above.
    place, disrupt
        How ``placed`` and ``disruption`` are proved.
    """

    running: int
    kept: int
    placed: int
    disruption: int = 0
    place: Proof = TRIVIAL
    disrupt: Proof = TRIVIAL

    def without_prices(self) -> TierBounds:
        """Return the same bounds, with their methods only."""
        return replace(self, place=Proof(self.place.method), disrupt=Proof(self.disrupt.method))


def round_bound(bound: float) -> int:
    """Return the largest integer that ``bound`` admits."""
    return floor(bound + ROUNDING)


def trivial_bounds(packing: Packing) -> list[TierBounds]:
    """Return the bounds that hold without solving, one entry a tier."""
    bounds = []
    placeable = 0
    worth = np.array([kind.worth for kind in packing.kinds], np.int64)
    for tier in packing.tiers:
        members = np.array([kind.priority == tier for kind in packing.kinds], np.bool_)
        anywhere = np.array([kind.eligible != () for kind in packing.kinds], np.bool_)
        placeable += int((members * anywhere * worth)[packing.kind].sum())
        running = int((members[packing.kind] & (packing.home != NOWHERE)).sum())
        bounds.append(TierBounds(running=running, kept=running, placed=placeable))
    return bounds
