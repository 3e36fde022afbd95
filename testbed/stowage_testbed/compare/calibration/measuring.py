"""Measures a machine's speed in about a second."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping

from stowage_testbed.compare.calibration.speed import Speed
from stowage_testbed.compare.calibration.works import WORKS

TRIES = 5
TRY_S = 0.04
"""Long enough for the clock, short enough to fall between two other things that run."""


def measure_speed(
    works: Mapping[str, Callable[[], None]] = WORKS,
    clock: Callable[[], float] = time.perf_counter,
) -> Speed:
    """Return the rates of the works on one core, each the best of several tries."""
    # A first call may pay for what later ones find ready.
    for work in works.values():
        work()
    rates = {
        name: max(_rate(work, clock) for _ in range(TRIES))
        for name, work in works.items()
    }
    return Speed(per_s=rates, cpus=len(os.sched_getaffinity(0)))


def _rate(work: Callable[[], None], clock: Callable[[], float]) -> float:
    begin_s = clock()
    done = 0
    while True:
        work()
        done += 1
        passed_s = clock() - begin_s
        if passed_s >= TRY_S:
            return done / passed_s
