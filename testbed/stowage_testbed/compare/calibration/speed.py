"""A machine's speed as the rates of a few fixed pieces of work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import fmean, stdev

ASSUMED_SPREAD = 0.1
"""Of one rate's logarithm, where a single one leaves no other way to know it."""


@dataclass(frozen=True, slots=True)
class Speed:
    """What was measured of a machine.

    Attributes
    ----------
    per_s
        By the name of the work, how often it was done in a second: the best of several
        tries, since whatever else runs only ever slows a try.
    cpus
        Cores that the processes may use.
    """

    per_s: Mapping[str, float]
    cpus: int


@dataclass(frozen=True, slots=True)
class Slowdown:
    """How many times longer work takes on one machine than on another.

    Attributes
    ----------
    factor
        Geometric mean over the pieces of work that both machines did.
    log_spread
        Standard deviation of that mean's logarithm: it depends on the kind of work.
    works
        The pieces of work.
    """

    factor: float
    log_spread: float
    works: tuple[str, ...]


def slowdown(before: Speed, now: Speed) -> Slowdown | None:
    """Return how much slower the machine is now; ``None`` with no work in common."""
    works = tuple(name for name in before.per_s if name in now.per_s)
    if not works:
        return None
    logs = [log(before.per_s[name] / now.per_s[name]) for name in works]
    spread = stdev(logs) if len(logs) > 1 else ASSUMED_SPREAD
    return Slowdown(exp(fmean(logs)), spread / sqrt(len(logs)), works)
