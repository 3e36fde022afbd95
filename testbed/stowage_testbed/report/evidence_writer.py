"""Keeps the evidence of every scenario that fails, and says where."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from stowage_testbed.report.bundle import scenario_folder
from stowage_testbed.report.evidence import write_evidence
from stowage_testbed.run.listener import Listener
from stowage_testbed.run.material import Material
from stowage_testbed.run.outcome import ScenarioOutcome

FAILED = "failed"
"""The folder of all evidence inside the run's folder."""


class EvidenceWriter(Listener):
    """Listens for failures.

    Parameters
    ----------
    folder
        The run's folder; evidence goes into `FAILED` below it.
    say
        Takes the line that names the folder.
    """

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        self._folder = folder / FAILED
        self._say = say

    def scenario_finished(self, outcome: ScenarioOutcome, material: Material) -> None:
        """Write the evidence if the scenario failed."""
        if outcome.passed:
            return
        folder = write_evidence(
            self._folder / scenario_folder(outcome), outcome, material
        )
        self._say(f"{outcome.scenario.scenario_id} failed; its evidence is in {folder}")
