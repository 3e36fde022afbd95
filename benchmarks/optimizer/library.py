"""The snapshots of the cases, made once and kept as files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from google.protobuf.json_format import MessageToJson, Parse

from benchmarks.optimizer.filling import fill
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.instances.case import Case, Family
from stowage_testbed.instances.snapshot import snapshot_of
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.simulation import simulate
from stowage_testbed.simulate import Simulator
from stowage_testbed.whole_file import write_whole

RECIPE = 2
"""Counted up whenever a case would give another snapshot than before."""

MOST_ATTEMPTS = 60
"""Seeds tried until the scheduler leaves a pod pending, as the paper did."""

Filling = Callable[[Scenario], dict[str, str | None]]


class Library:
    """Snapshots by case.

    Parameters
    ----------
    folder
        Where the files are kept.
    simulator
        The real scheduler, which makes the placements to begin with.
    """

    def __init__(self, folder: Path, simulator: Simulator) -> None:
        self._folder = folder / f"snapshots-{RECIPE}"
        self._simulator = simulator

    def snapshot(self, case: Case) -> pb.Snapshot | None:
        """Return the snapshot of ``case``.

        None where the scheduler placed every pod at each of `MOST_ATTEMPTS` seeds.
        """
        path = self._folder / f"{case.id}.json"
        if not path.is_file():
            snapshot = self._make(case)
            text = "" if snapshot is None else MessageToJson(snapshot, indent=None)
            write_whole(path, text)
        text = path.read_text(encoding="utf-8")
        return Parse(text, pb.Snapshot()) if text else None

    def _make(self, case: Case) -> pb.Snapshot | None:
        filling = fill if case.family is Family.LARGE else self._simulated
        for attempt in range(MOST_ATTEMPTS):
            scenario = case.scenario(attempt)
            placements = filling(scenario)
            if None in placements.values():
                return snapshot_of(scenario, placements)
        return None

    def _simulated(self, scenario: Scenario) -> dict[str, str | None]:
        return {pod.name: pod.node for pod in simulate(scenario, self._simulator).pods}
