"""The metrics of one run, as the comparison takes them in."""

from __future__ import annotations

from dataclasses import dataclass

from stowage_testbed.metrics.metric import Metric


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """One arm in one round.

    Attributes
    ----------
    limits
        ``own`` or ``equal`` client limits; only runs of one kind are compared.
    error
        Why the run does not count; empty for one that does.
    """

    arm: str
    limits: str
    round_number: int
    metrics: tuple[Metric, ...]
    error: str = ""
