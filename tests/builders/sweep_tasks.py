"""Tasks for workers, which must be importable there, and rows of two sweeps."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from polars.testing import assert_frame_equal

from stowage_testbed.reproduce.instance.rebuilding import INSTANCES, RESULTS
from stowage_testbed.reproduce.sweep.execution import Tools, Workers

TIMES = ("wall_s", "solve_s", "simulated_s")
LIMIT_S = 4.0
"""Of which the steps take an eighth to two fifths; the clock must not end them."""

_THREAD = ThreadPoolExecutor(1)
HERE = Workers(1, lambda: nullcontext(_THREAD), cores=os.cpu_count() or 1)
"""This process, one task after the other."""


def same_rows(one: Path, other: Path) -> None:
    """Check that two sweeps have the same rows in one order, but for times."""
    for name in (INSTANCES, RESULTS):
        frames = [pl.read_parquet(path / f"{name}.parquet").drop(TIMES, strict=False) for path in (one, other)]
        assert_frame_equal(*frames)


@dataclass(frozen=True, slots=True)
class Harmless:
    """A task that returns which process executed it."""

    id: str

    def execute(self, tools: Tools) -> tuple[int, ...]:
        return (os.getpid(),)


@dataclass(frozen=True, slots=True)
class Deadly:
    """A task that kills its worker, as one does that wants too much memory."""

    id: str

    def execute(self, tools: Tools) -> tuple[int, ...]:
        os.kill(os.getpid(), signal.SIGKILL)
        return ()
