"""Tasks for workers, which must be importable there, and rows of two sweeps."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import polars as pl
from polars.testing import assert_frame_equal

from stowage_testbed.reproduce.rebuilding import INSTANCES, RESULTS
from stowage_testbed.reproduce.sweep import Task, Tools, Workers

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


def return_process(tools: Tools) -> tuple[int, ...]:
    return (os.getpid(),)


def kill_worker(tools: Tools) -> tuple[int, ...]:
    """Kill this process, as a task does that wants too much memory."""
    os.kill(os.getpid(), signal.SIGKILL)
    return ()


DEADLY = (Task("first", return_process), Task("deadly", kill_worker), Task("last", return_process))
