"""How long the service takes to be ready, and what a call costs beside the solve."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.optimizer.fleet import LIMIT_S, FleetCall
from benchmarks.optimizer.library import Library
from benchmarks.optimizer.measurement import measure
from benchmarks.optimizer.scope import OVERHEAD_CELL, Arm, OptimizerScope
from stowage_testbed.base.whole_file import write_whole
from stowage_testbed.instances.case import Case, Family
from stowage_testbed.optimizer_service.service import RunningService, running_service
from stowage_testbed.text.figure import Figure, at_least, at_most, figure

OVERHEAD_LIMIT_S = 0.5


@dataclass(frozen=True, slots=True)
class Readiness:
    """Samples of one service, in seconds.

    Parameters
    ----------
    cold_s, warm_s
        Start to ready, without and with compiled code in the cache.
    overhead_s
        A call's time at the caller, less the time that the child solved.
    fleet
        Calls about the largest cluster, at the chart's default limit.
    """

    cold_s: tuple[float, ...] = ()
    warm_s: tuple[float, ...] = ()
    overhead_s: tuple[float, ...] = ()
    fleet: tuple[FleetCall, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return the samples as JSON values."""
        return asdict(self)

    def covers(self, scope: OptimizerScope) -> bool:
        """Return whether there are as many samples as ``scope`` asks for."""
        calls = len(self.overhead_s)
        return (
            len(self.warm_s) >= scope.starts
            and calls >= scope.calls
            and len(self.fleet) >= scope.fleet_calls
        )


def read_readiness(path: Path) -> Readiness:
    """Return what `write_readiness` wrote; nothing if the file is not there."""
    if not path.is_file():
        return Readiness()
    samples = json.loads(path.read_text(encoding="utf-8"))
    fleet = tuple(FleetCall(**call) for call in samples.pop("fleet"))
    lists = {name: tuple(values) for name, values in samples.items()}
    return Readiness(**lists, fleet=fleet)


def write_readiness(path: Path, readiness: Readiness) -> None:
    """Write ``readiness`` down, whole or not at all."""
    write_whole(path, json.dumps(readiness.document()))


def starts(scope: OptimizerScope) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return cold and warm start times; each pair has a code cache of its own."""
    cold: list[float] = []
    warm: list[float] = []
    for _ in range(scope.starts):
        with tempfile.TemporaryDirectory(prefix="sto-code-") as folder:
            for samples in (cold, warm):
                with running_service(Path(folder)) as service:
                    samples.append(service.ready_s)
    return tuple(cold), tuple(warm)


def overheads(
    scope: OptimizerScope, strategy: str, library: Library, service: RunningService
) -> tuple[float, ...]:
    """Return what calls at 32 nodes cost beside their solve; the first is left out."""
    case = Case(Family.PAPER, OVERHEAD_CELL, 0)
    snapshot = library.snapshot(case)
    if snapshot is None:
        return ()
    arm = Arm("overhead", strategy, OVERHEAD_LIMIT_S)
    call = arm.call(case, snapshot)
    calls = [measure(service, call) for _ in range(scope.calls + 1)]
    return tuple(one.wall_s - one.solve_s for one in calls[1:])


def service_figures(readiness: Readiness) -> Iterator[Figure]:
    """Yield start-up times, and what a call takes, stage by stage."""
    calls = readiness.fleet
    yield figure(
        "service: cold start to ready", "s", readiness.cold_s, max, at_most(10, "s"),
        note="nothing compiled yet",
    )  # fmt: skip
    yield figure(
        "service: warm start to ready", "s", readiness.warm_s, max, at_most(2, "s")
    )
    yield figure(
        "service: call beside the solve, 32 nodes", "s", readiness.overhead_s, median,
        at_most(0.02, "s"), note="at the caller, with decoding and verifying",
    )  # fmt: skip
    of_fleet: tuple[tuple[str, list[float], float, str], ...] = (
        ("reading", [one.read_s for one in calls], 0.5,
         "before the limit begins; 50,000 pods on 5,000 nodes unless smoke"),
        ("first plan after reading", [one.first_plan_s - one.read_s for one in calls],
         0.3, "checked, at the caller"),
        ("checking the last plan", [one.check_s for one in calls], 0.3, ""),
        ("whole call beyond the limit of 1 s", [one.wall_s - LIMIT_S for one in calls],
         1.0, ""),
    )  # fmt: skip
    for what, samples, most_s, note in of_fleet:
        name = f"fleet: {what}"
        yield figure(name, "s", samples, median, at_most(most_s, "s"), note=note)
    placed = [100 * one.placed for one in calls]
    yield figure("fleet: waiting pods placed", "%", placed, min, at_least(100, "%"))
    yield figure(
        "fleet: moves for each of them", "moves", [one.moves for one in calls], max,
        at_most(1.1, "moves"), note="each needs one",
    )  # fmt: skip
