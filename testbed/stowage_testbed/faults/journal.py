"""The tries so far, and which build they are of."""

from __future__ import annotations

import hashlib
from pathlib import Path

from stowage_testbed.environment import fingerprint
from stowage_testbed.faults.trial import Trial
from stowage_testbed.journal import Journal
from stowage_testbed.toolchain import tool_path

LENGTH = 12


def build_mark() -> str:
    """Return a short hash of the scheduler and the optimiser that are tried."""
    scheduler = tool_path("stowage-scheduler").parent.name
    return hashlib.sha256(f"{scheduler} {fingerprint()}".encode()).hexdigest()[:LENGTH]


class TrialJournal:
    """Tries by scenario, number and seed; what is there is not tried again.

    Parameters
    ----------
    path
        The file; made with the first try.
    """

    def __init__(self, path: Path) -> None:
        self._file = Journal(path, Trial)

    def add(self, trial: Trial) -> None:
        """Write a try down."""
        self._file.add(trial)

    def trials(self) -> list[Trial]:
        """Return all tries."""
        return self._file.records()

    def of(self, scenario: str, seed: int) -> list[Trial]:
        """Return the tries of one scenario with one seed."""
        return [
            trial
            for trial in self.trials()
            if trial.scenario == scenario and trial.seed == seed
        ]
