"""What plans may do, and which of them are wanted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from stowage_testbed.whatif.asking import PlanLimits
from stowage_testbed.whatif.release import Release


@dataclass(frozen=True, slots=True)
class Options:
    """What plans may do, and which are wanted.

    Attributes
    ----------
    own
        The scheduler that steers replacements into held room: the release's.
    least_gain
        Nodes with less of it are left as they are.
    nodes
        A LabelSelector of the nodes that are asked about; all without one.
    """

    limits: PlanLimits
    own: str
    least_gain: Fraction = Fraction(0)
    nodes: Mapping[str, Any] | None = None

    @property
    def release(self) -> Release:
        """The release, with its limit on moves lowered to what is asked for."""
        return self.limits.release.at_most(self.limits.max_moves)
