"""Tasks for workers: they must be importable there."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass

from stowage_testbed.reproduce.sweep.task import Tools


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
