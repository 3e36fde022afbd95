"""How fast this machine is, so that times of two machines can be compared: a second of a few fixed pieces of work."""

import hashlib
import json
import os
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import fmean, stdev

ASSUMED_SPREAD = 0.1
"""Of one rate's logarithm, where a single one leaves no other way to know it."""

TRIES = 5
TRY_S = 0.04
"""Long enough for the clock, short enough to fall between two other things that run."""


@dataclass(frozen=True, slots=True)
class Speed:
    """A machine's cores, and how often a second one of them does each piece of work: the best of several tries."""

    per_s: Mapping[str, float]
    cpus: int


@dataclass(frozen=True, slots=True)
class Slowdown:
    """How many times longer work takes, as a geometric mean, with the standard deviation of its logarithm."""

    factor: float
    log_spread: float
    works: tuple[str, ...]


def slowdown(before: Speed | None, now: Speed | None) -> Slowdown | None:
    """Return how much slower the machine is now; `None` with no work in common."""
    works = tuple(name for name in before.per_s if name in now.per_s) if before and now else ()
    if not works or before is None or now is None:
        return None
    logs = [log(before.per_s[name] / now.per_s[name]) for name in works]
    spread = stdev(logs) if len(logs) > 1 else ASSUMED_SPREAD
    return Slowdown(exp(fmean(logs)), spread / sqrt(len(logs)), works)


_POD = {
    "metadata": {
        "name": "web-7d4b9c6f5-x2x9q",
        "labels": {f"label-{number}": f"value-{number}" for number in range(8)},
    },
    "spec": {
        "containers": [
            {
                "name": f"container-{number}",
                "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
                "env": [{"name": f"E{item}", "value": "v" * 16} for item in range(8)],
            }
            for number in range(2)
        ]
    },
}
_LIST = [_POD] * 50
_TEXT = json.dumps(_LIST).encode()


def _score() -> None:
    """Filter and sort nodes in plain code, as one scheduling cycle does."""
    free = [(number * 7919) % 4000 for number in range(1000)]
    fitting = [number for number in range(1000) if free[number] >= 100]  # noqa: PLR2004
    sorted(fitting, key=lambda number: (-free[number], number))


WORKS: Mapping[str, Callable[[], object]] = {
    "encode": lambda: json.loads(json.dumps(_LIST)),
    "hash": lambda: [hashlib.sha256(_TEXT).digest() for _ in range(20)],
    "pack": lambda: zlib.compress(_TEXT, 6),
    "score": _score,
}
"""What watches, TLS, storage and schedulers do; one that changes gets a new name: old baselines have old rates."""


def measure_speed(
    works: Mapping[str, Callable[[], object]] = WORKS, clock: Callable[[], float] = time.perf_counter
) -> Speed:
    """Return the rates of the works on one core."""

    def rate(work: Callable[[], object]) -> float:
        begin_s, done, passed_s = clock(), 0, 0.0
        while passed_s < TRY_S:
            work()
            done += 1
            passed_s = clock() - begin_s
        return done / passed_s

    # A first call may pay for what later ones find ready.
    for work in works.values():
        work()
    rates = {name: max(rate(work) for _ in range(TRIES)) for name, work in works.items()}
    return Speed(per_s=rates, cpus=len(os.sched_getaffinity(0)))
