"""The tries so far: each is a line on disk before the next one begins."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from testbed.bench.fingerprint import fingerprint
from testbed.faults.trial import Trial, read_trial
from testbed.toolchain import tool_path

LENGTH = 12


def build_mark() -> str:
    """Return a short hash of the scheduler and the optimiser that are tried."""
    scheduler = tool_path("stowage-scheduler").parent.name
    return hashlib.sha256(f"{scheduler} {fingerprint()}".encode()).hexdigest()[:LENGTH]


class TrialJournal:
    """Tries by scenario, number and seed; what is there is not tried again.

    Several processes may add to one file: a line is written in one piece.

    Parameters
    ----------
    path
        The file; made with the first try.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, trial: Trial) -> None:
        """Write a try down."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(trial.document()) + "\n")

    def trials(self) -> list[Trial]:
        """Return all tries; a line that was cut off by a killed process is left out."""
        if not self._path.is_file():
            return []
        lines = self._path.read_text(encoding="utf-8").splitlines(keepends=True)
        whole = (line for line in lines if line.endswith("\n"))
        return [read_trial(json.loads(line)) for line in whole]

    def of(self, scenario: str, seed: int) -> list[Trial]:
        """Return the tries of one scenario with one seed."""
        return [
            trial
            for trial in self.trials()
            if trial.scenario == scenario and trial.seed == seed
        ]
