"""Tasks for workers, which must be importable there, and rows of two sweeps."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import polars as pl
from distributed.worker import get_worker
from polars.testing import assert_frame_equal

from stowage_testbed.reproduce.instance.rebuilding import INSTANCES, RESULTS
from stowage_testbed.workers.task import Tools

TIMES = ("wall_s", "solve_s", "simulated_s")
LIMIT_S = 4.0
"""Of which the steps take an eighth on two busy cores; the clock must not end them."""


def same_rows(one: Path, other: Path) -> None:
    """Check that two sweeps have the same rows in one order, but for times."""
    for name in (INSTANCES, RESULTS):
        frames = [
            pl.read_parquet(path / f"{name}.parquet").drop(TIMES, strict=False)
            for path in (one, other)
        ]
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


BUSY: list[str] = []
MOST_BUSY: list[int] = [0]
BEGUN: list[str] = []
ENDED: list[str] = []


@dataclass(frozen=True, slots=True)
class Side:
    """A task that notes how many of its kind are carried out beside it."""

    id: str

    def execute(self, tools: Tools) -> tuple[str, ...]:
        BUSY.append(self.id)
        MOST_BUSY[0] = max(MOST_BUSY[0], len(BUSY))
        Event().wait(0.05)
        BUSY.remove(self.id)
        return (get_worker().address,)


@dataclass(frozen=True, slots=True)
class Patient:
    """A task with a child, which goes on for as long as it is wanted."""

    id: str

    def execute(self, tools: Tools) -> tuple[str, ...]:
        tools.children.add(1)
        BEGUN.append(self.id)
        while tools.wanted():
            Event().wait(0.01)
        Event().wait(0.3)  # what bringing a cluster down takes
        ENDED.append(self.id)
        tools.children.discard(1)
        return ()
