"""The benchmark of the optimiser: ask what is not on record, write the figures."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from benchmarks.command import Say, write_figures
from benchmarks.optimizer.figures import Answer, fleet_figures
from benchmarks.optimizer.fleet import price_micros
from benchmarks.optimizer.measurement import Call, Record, measure
from benchmarks.optimizer.scope import LIMIT_S, MADE, SEED, Aim, Ask, FleetScope, Sample
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.base.journal import Journal, TaskJournal
from stowage_testbed.optimizer_service.service import RunningService, running_service
from stowage_testbed.text.figure import Figure, at_most, figure
from stowage_testbed.toolchain.environment import fingerprint

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
    request = pb.SolveRequest(
        snapshot=OVERHEAD.make(None).snapshot(), options=pb.SolveOptions(time_limit_s=OVERHEAD_LIMIT_S, seed=SEED)
    )
    call = Call(OVERHEAD.name, "overhead", request)
    measure(service, call)  # the first is left out
    records = [measure(service, call) for _ in range(calls)]
    overhead_s = tuple(one.wall_s - one.solve_s for one in records)
    return ServiceTimes(tuple(cold_s), tuple(warm_s), overhead_s)


NAME = "bench-optimizer"


def run_benchmark(scope: FleetScope, folder: Path | None, results: Path, say: Say) -> str:
    """Measure, write ``<results>/bench-optimizer.json``, return the table.

    Each call is on record before the next: a run that was interrupted goes on.
    """
    journal = Journal(results / NAME / f"records-{fingerprint()}.jsonl", Record)
    known = {(one.case, one.arm): one for one in journal.records()}
    asks = list(scope.asks(real=folder is not None))
    missing = [one for one in asks if (one.sample.name, one.arm) not in known]
    times = TaskJournal(results / NAME / f"service-{fingerprint()}.jsonl", ServiceTimes)
    if missing or scope.name not in times:
        with running_service() as service:
            if scope.name not in times:
                found = measure_service(service, scope.starts, scope.calls)
                times.add(scope.name, (found,))
            sample, snapshot = None, pb.Snapshot()
            for number, ask in enumerate(missing, start=1):
                # Calls about one fleet follow each other.
                if ask.sample != sample:
                    sample, snapshot = ask.sample, ask.sample.make(folder).snapshot()
                record = _answer(service, ask, snapshot)
                journal.add(record)
                known[record.case, record.arm] = record
                say(f"{number} of {len(missing)}: {_told(record)}")
    answers = [Answer(one, known[one.sample.name, one.arm]) for one in asks]
    return write_figures(
        results / f"{NAME}.json",
        [*fleet_figures(answers), *(one for found in times.get(scope.name) for one in found.figures())],
        {"trace": folder is not None},
        fleets=[_document(one) for one in answers],
    )


def _answer(service: RunningService, ask: Ask, snapshot: pb.Snapshot) -> Record:
    placing = ask.aim is Aim.PLACE
    objective = pb.OBJECTIVE_PLACE if placing else pb.OBJECTIVE_CONSOLIDATE
    for node in snapshot.nodes:
        priced = ask.aim is Aim.CHEAPEST
        node.hourly_price_micros = price_micros(node) if priced else 0
    options = pb.SolveOptions(strategy=ask.strategy, time_limit_s=ask.limit_s, seed=SEED, objective=objective)
    watches = ask.sample.pods == MADE and ask.limit_s > LIMIT_S
    request = pb.SolveRequest(snapshot=snapshot, options=options)
    return measure(service, Call(ask.sample.name, ask.arm, request, watches))


def _told(record: Record) -> str:
    last = record.tiers[-1] if record.tiers else None
    placed = f"{last.placed} of at most {last.upper_bound} placed" if last else "none"
    first = record.first_plan_s
    after = "no plan" if first is None else f"first plan after {first:.2f} s"
    return f"{record.case}, {record.arm}: {after}, {placed}, {record.wall_s:.2f} s"


def _document(answer: Answer) -> dict[str, object]:
    record = answer.record
    return {
        "fleet": record.case,
        "arm": record.arm,
        "wall_s": record.wall_s,
        "first_plan_s": record.first_plan_s,
        "tiers": [asdict(one) for one in record.tiers],
        "nodes": [record.nodes_before, record.nodes_after, record.nodes_lower_bound],
        "price_micros": [record.price_before_micros, record.price_after_micros, record.price_lower_bound_micros],
    }
