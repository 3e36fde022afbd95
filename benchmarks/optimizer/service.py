"""How long the service takes to be ready, and what a call costs beside the solve."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.optimizer.measurement import Call, measure
from benchmarks.optimizer.scope import MADE, SEED, Sample
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.optimizer_service.service import RunningService, running_service
from stowage_testbed.text.figure import Figure, at_most, figure

OVERHEAD = Sample(MADE, 32, 0.95, SEED)
OVERHEAD_LIMIT_S = 0.5


@dataclass(frozen=True, slots=True)
class ServiceTimes:
    """Seconds from the start to ready, without and with compiled code; of a call."""

    cold_s: tuple[float, ...]
    warm_s: tuple[float, ...]
    overhead_s: tuple[float, ...]

    def figures(self) -> Iterator[Figure]:
        """Yield start-up times, and what a call takes beside the solve."""
        yield figure(
            "service: cold start to ready", "s", self.cold_s, max, at_most(10, "s"),
            note="nothing compiled yet",
        )  # fmt: skip
        yield figure(
            "service: warm start to ready", "s", self.warm_s, max, at_most(2, "s")
        )
        yield figure(
            "service: call beside the solve, 32 nodes", "s", self.overhead_s, median,
            at_most(0.02, "s"), note="at the caller, with decoding and verifying",
        )  # fmt: skip


def measure_service(service: RunningService, starts: int, calls: int) -> ServiceTimes:
    """Return the times of new services, and of calls to one that runs."""
    cold_s, warm_s = list[float](), list[float]()
    for _ in range(starts):
        # Each pair has a code cache of its own.
        with tempfile.TemporaryDirectory(prefix="sto-code-") as folder:
            for samples in (cold_s, warm_s):
                with running_service(Path(folder)) as started:
                    samples.append(started.ready_s)
    request = pb.SolveRequest(
        snapshot=OVERHEAD.make(None).snapshot(),
        options=pb.SolveOptions(time_limit_s=OVERHEAD_LIMIT_S, seed=SEED),
    )
    call = Call(OVERHEAD.name, "overhead", request)
    measure(service, call)  # the first is left out
    records = [measure(service, call) for _ in range(calls)]
    overhead_s = tuple(one.wall_s - one.solve_s for one in records)
    return ServiceTimes(tuple(cold_s), tuple(warm_s), overhead_s)
