"""What the service promises, and whether it keeps it (second paper, section 5.2.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from stowage_testbed.declaration import setting

SLA_RANK = 0.99


@dataclass(frozen=True, slots=True)
class Sla:
    """Limits of a window's p99 latency and of its share of errors."""

    p99_s: Annotated[
        float, setting("Most that a window's p99 latency may be.", exclusiveMinimum=0)
    ] = 1.0
    errors: Annotated[
        float, setting("Largest share of errors in a window.", minimum=0, maximum=1)
    ] = 0.01

    def kept(self, p99_s: float, errors: float) -> bool:
        """Return whether both limits hold."""
        return p99_s <= self.p99_s and errors <= self.errors
