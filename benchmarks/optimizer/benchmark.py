"""The benchmark of the optimiser: ask what is not on record, write the figures."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from statistics import median

from benchmarks.engine import Rounds, Say, build_of
from benchmarks.optimizer.figures import Answer, fleet_figures
from benchmarks.optimizer.fleet import price_micros
from benchmarks.optimizer.measurement import Record, measure
from benchmarks.optimizer.scope import LIMIT_S, MADE, SEED, Aim, Ask, FleetScope, Sample
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.optimizer_service.service import RunningService, running_service
from stowage_testbed.reproduce.rebuilding import write_figures
from stowage_testbed.text.figure import Figure, at_most, figure

OVERHEAD = Ask(Sample(MADE, 32, 0.95, SEED), "", 0.5)
"""The call whose time beside the solve is measured."""


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
        yield figure("service: warm start to ready", "s", self.warm_s, max, at_most(2, "s"))
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
    snapshot = OVERHEAD.sample.make(None).snapshot()
    # The first is left out.
    records = [_answer(service, OVERHEAD, snapshot) for _ in range(calls + 1)][1:]
    return ServiceTimes(tuple(cold_s), tuple(warm_s), tuple(one.wall_s - one.solve_s for one in records))


NAME = "bench-optimizer"


def run_benchmark(scope: FleetScope, folder: Path | None, results: Path, say: Say) -> str:
    """Measure, write ``<results>/bench-optimizer.json``, return the table.

    Each call is on record before the next: a run that was interrupted goes on.
    """
    answers = Rounds(results / NAME / f"answers-{build_of()}.jsonl", Record)
    times = Rounds(results / NAME / f"service-{build_of()}.jsonl", ServiceTimes)
    asks = list(scope.asks(real=folder is not None))
    missing = [one for one in asks if one.task not in answers]
    with ExitStack() as open_until_end:

        @cache
        def service() -> RunningService:
            return open_until_end.enter_context(running_service())

        found = times.measured(scope.name, lambda: [measure_service(service(), scope.starts, scope.calls)])
        sample, snapshot = None, pb.Snapshot()
        for number, ask in enumerate(missing, start=1):
            # Calls about one fleet follow each other.
            if ask.sample != sample:
                sample, snapshot = ask.sample, ask.sample.make(folder).snapshot()
            record = _answer(service(), ask, snapshot)
            answers.add(ask.task, (record,))
            say(f"{number} of {len(missing)}: {_told(record)}")
    answered = [Answer(ask, record) for ask in asks for record in answers.get(ask.task)]
    return write_figures(
        results / f"{NAME}.json",
        [*fleet_figures(answered), *(one for of_service in found for one in of_service.figures())],
        {"trace": folder is not None},
        fleets=[asdict(one.record) for one in answered],
    )


def _answer(service: RunningService, ask: Ask, snapshot: pb.Snapshot) -> Record:
    for node in snapshot.nodes:
        node.hourly_price_micros = price_micros(node) if ask.aim is Aim.CHEAPEST else 0
    options = pb.SolveOptions(
        strategy=ask.strategy,
        time_limit_s=ask.limit_s,
        seed=SEED,
        objective=pb.OBJECTIVE_PLACE if ask.aim is Aim.PLACE else pb.OBJECTIVE_CONSOLIDATE,
    )
    request = pb.SolveRequest(snapshot=snapshot, options=options)
    watches_memory = ask.sample.pods == MADE and ask.limit_s > LIMIT_S
    return measure(service, ask.sample.name, ask.arm, request, watches_memory=watches_memory)


def _told(record: Record) -> str:
    last = record.tiers[-1] if record.tiers else None
    placed = f"{last.placed} of at most {last.upper_bound} placed" if last else "none"
    first = record.first_plan_s
    after = "no plan" if first is None else f"first plan after {first:.2f} s"
    return f"{record.case}, {record.arm}: {after}, {placed}, {record.wall_s:.2f} s"
