"""The benchmark of gangs: the optimiser, and stock with workload-aware preemption, get the same clusters."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path

import yaml

from benchmarks.engine import Rounds, Say, Scope, ScopeName, build_of
from benchmarks.gangs.exhaustive import best_value
from benchmarks.gangs.figures import Row, TinyRow, gang_figures, proofs_of, tiny_figures
from benchmarks.gangs.generator import THREADS, make_instance, make_tiny
from benchmarks.gangs.instance import GangInstance
from benchmarks.gangs.outcome import Outcome, outcome_of, where_after
from benchmarks.optimizer.measurement import Record, measure_plan
from benchmarks.optimizer.scope import LIMIT_S, OURS, SEED
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify import verify_plan
from stowage_optimizer.verify.certificate import verify_certificates
from stowage_testbed.base.files import write_whole
from stowage_testbed.optimizer_service.service import RunningService, running_service
from stowage_testbed.reproduce.rebuilding import write_figures
from stowage_testbed.simulate.process import NoAnswerError, Simulator, find_profile

NAME = "bench-gangs"
GATES = "GenericWorkload=true"
"""With it, the stock scheduler of 1.37 places a gang whole, and has it preempt."""


@dataclass(frozen=True, slots=True)
class GangScope(Scope):
    """How many clusters are compared with the stock scheduler, besides those of the threads, and how many tiny ones."""

    instances: int
    tiny: int


SMOKE = GangScope(ScopeName.SMOKE, instances=10, tiny=100)
DEFAULT = GangScope(ScopeName.DEFAULT, instances=500, tiny=2000)
SCOPES = (SMOKE, DEFAULT)


def run_benchmark(scope: GangScope, results: Path, say: Say) -> str:
    """Measure, write ``<results>/bench-gangs.json``, return the table.

    Each cluster is on record before the next: a run that was interrupted goes on.
    """
    build, folder = build_of("stowage-simulate"), results / NAME
    rows = Rounds(folder / f"clusters-{build}.jsonl", Row)
    tiny_rows = Rounds(folder / f"tiny-{build}.jsonl", TinyRow)
    with ExitStack() as open_until_end:

        @cache
        def service() -> RunningService:
            return open_until_end.enter_context(running_service())

        @cache
        def stock() -> Simulator:
            return open_until_end.enter_context(Simulator(_profile(folder), feature_gates=GATES))

        compared = list[Row]()
        for instance in (*THREADS, *map(make_instance, range(1, scope.instances + 1))):
            compared += rows.measured(instance.name, partial(_compare, instance, service, stock, say))
        tried = list[TinyRow]()
        for instance in map(make_tiny, range(1, scope.tiny + 1)):
            tried += tiny_rows.measured(instance.name, partial(_try, instance, service))
        say(f"{len(tried)} tiny clusters compared with all of their plans")
    return write_figures(
        results / f"{NAME}.json",
        [*gang_figures(compared), *tiny_figures(tried)],
        {"scope": scope.name},
        clusters=[asdict(one) for one in compared],
    )


def _profile(folder: Path) -> Path:
    """Write the stock scheduler's configuration, without the plugin of devices, which no pod asks for here.

    1.37.2 ends an attempt with an error, "not found", when that plugin is asked what to do for a gang that has failed
    before its first pod was tried: some of its pods have been preempted and are not back yet.
    """
    content = yaml.safe_load(find_profile("default").read_text(encoding="utf-8"))
    for one in content["profiles"]:
        one["plugins"] = {"multiPoint": {"disabled": [{"name": "DynamicResources"}]}}
    file = folder / "stock.yaml"
    write_whole(file, yaml.safe_dump(content))
    return file


def _compare(
    instance: GangInstance, service: Callable[[], RunningService], stock: Callable[[], Simulator], say: Say
) -> Iterator[Row]:
    """Yield what the optimiser and the stock scheduler make of a cluster."""
    began = time.perf_counter()
    try:
        found = stock().place(instance.simulated())
    except NoAnswerError:
        preempted = None
    else:
        preempted = outcome_of(instance, found.nodes, found.evicted)
    stock_s = time.perf_counter() - began
    row = _planned(instance, service(), preempted, stock_s)
    told = _told(preempted) if preempted else "comes to no end"
    say(f"{instance.name}, {len(instance.nodes)} nodes: {_told(row.plan)}; stock: {told}")
    yield row


def _planned(instance: GangInstance, service: RunningService, stock: Outcome | None, stock_s: float) -> Row:
    snapshot = instance.snapshot()
    record, update = _ask(instance, service, snapshot)
    plan, left_alone = update.plan, [one.subject for one in update.refusals]
    disrupted = {one.pod_uid for one in plan.moves} | {one.pod_uid for one in plan.evictions}
    # A solve that was killed has no plan; what runs goes on then.
    violations = verify_plan(snapshot, plan, pb.POLICY_STRICT, _options()) if update.HasField("plan") else ()
    checked = verify_certificates(snapshot, plan, pb.POLICY_STRICT, left_alone)
    return Row(
        record=record,
        nodes=len(instance.nodes),
        plan=outcome_of(instance, where_after(instance, plan), disrupted),
        stock=stock,
        stock_s=stock_s,
        proofs=tuple(proofs_of(plan)),
        violations=tuple(map(str, violations)),
        claims=checked.claims,
        refuted=tuple(map(str, checked.violations)),
    )


def _try(instance: GangInstance, service: Callable[[], RunningService]) -> Iterator[TinyRow]:
    """Yield the optimiser's plan beside the best of all."""
    record, _ = _ask(instance, service(), instance.snapshot())
    yield TinyRow(record, best_value(instance))


def _ask(instance: GangInstance, service: RunningService, snapshot: pb.Snapshot) -> tuple[Record, pb.SolveUpdate]:
    request = pb.SolveRequest(snapshot=snapshot, options=_options())
    return measure_plan(service, instance.name, f"{OURS} {LIMIT_S:g} s", request)


def _options() -> pb.SolveOptions:
    return pb.SolveOptions(strategy=OURS, time_limit_s=LIMIT_S, seed=SEED)


def _told(outcome: Outcome) -> str:
    return f"{sum(outcome.gangs)} gangs, {outcome.victims} victims"
