"""The snapshots of the cases, made once and kept as files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from google.protobuf.json_format import MessageToJson, Parse

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.amounts.resources import CPU, MEMORY
from stowage_testbed.base.whole_file import write_whole
from stowage_testbed.instances.case import Case, Family
from stowage_testbed.instances.snapshot import snapshot_of
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.simulation import simulate
from stowage_testbed.simulate import Simulator


def fill(scenario: Scenario) -> dict[str, str | None]:
    """Return the node of each pod, ``<workload>-<number>``; None where none has room.

    The emptiest node that has room takes the next pod, the first in order among equals.
    That is what the scheduler's LeastAllocated score does, without its minutes:
    `simulate` looks at every node in Go objects, this at two arrays.
    """
    names = [name for pool in scenario.nodes for name in pool.node_names()]
    size = np.array(
        [
            [pool.resources[name] for name in (CPU, MEMORY)]
            for pool in scenario.nodes
            for _ in range(pool.count)
        ],
        np.int64,
    )
    free = size.copy()
    share = np.ones(len(names))
    placements: dict[str, str | None] = {}
    for workload in scenario.workload:
        wanted = np.array([workload.requests[name] for name in (CPU, MEMORY)], np.int64)
        for number in range(workload.replicas):
            open_to = (free >= wanted).all(axis=1)
            node = int(np.argmax(np.where(open_to, share, -1.0)))
            has_room = bool((free[node] >= wanted).all())
            pod = f"{workload.name}-{number}"
            placements[pod] = names[node] if has_room else None
            if has_room:
                free[node] -= wanted
                share[node] = (free[node] / size[node]).mean()
    return placements


RECIPE = 2
"""Counted up whenever a case would give another snapshot than before."""

MOST_ATTEMPTS = 60
"""Seeds tried until the scheduler leaves a pod pending, as the paper did."""


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
