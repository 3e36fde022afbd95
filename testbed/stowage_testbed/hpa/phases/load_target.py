"""What the load is put on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from stowage_testbed.hpa.model.load_window import Segment


class LoadTarget(Protocol):
    """A service whose ready replicas can be seen, and whose CPU usage can be set."""

    def now_s(self) -> float:
        """Return seconds since the run began."""
        ...

    def ready(self) -> int:
        """Return how many replicas are ready now."""
        ...

    def use_cpu(self, cpu_milli: int) -> None:
        """Let every replica use this much CPU from now on."""
        ...

    def await_change(self, ready: int, until_s: float) -> None:
        """Return as soon as not ``ready`` replicas are ready, or at ``until_s``."""
        ...

    def segments(self, start_s: float, end_s: float) -> Sequence[Segment]:
        """Return the ready replicas over a span that has passed, in order."""
        ...
