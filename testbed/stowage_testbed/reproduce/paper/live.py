"""Running a sample of a sweep's instances on a real cluster, with plans carried out."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from time import monotonic, perf_counter

from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.journal import TaskJournal
from stowage_testbed.metrics.state import ClusterState, count_placed_by_priority, list_placements
from stowage_testbed.reproduce.paper.evaluation import Categorised, Evaluation
from stowage_testbed.reproduce.sweep import lock_folder
from stowage_testbed.run.cluster import open_context
from stowage_testbed.run.context import Stopwatch, make_run_id
from stowage_testbed.run.listener import Listener
from stowage_testbed.run.outcome import ScenarioOutcome
from stowage_testbed.run.request import RunRequest
from stowage_testbed.run.scenario_run import run_scenario
from stowage_testbed.scenario.model import AFTER, BEFORE, OptimizerSettings, Scenario
from stowage_testbed.scenario.simulation import simulate
from stowage_testbed.simulate.process import Simulator, find_profile
from stowage_testbed.text.tables import Table


@dataclass(frozen=True, slots=True)
class LiveRow:
    """One instance on a cluster; ``difference`` is what the cluster placed otherwise than the simulation.

    ``simulated_s`` is a median, ``cluster_s`` the time to make nodes and settle pods, ``start_s`` the cluster's start.
    ``planned`` and ``executed`` count pods placed by priority: by the sweep's plan, and after the cluster's.
    """

    case: str
    strategy: str
    limit_s: float
    difference: str
    simulated_s: float
    cluster_s: float
    start_s: float
    planned: tuple[int, ...]
    executed: tuple[int, ...]
    moves: int
    evictions: int
    error: str = ""


JOURNAL = "live.jsonl"

SIMULATIONS = 5
"""Of which the median counts: one alone may meet a busy moment."""

PLACING = ("prepare", BEFORE)
"""The steps of a run that place the instance; the others install schedulers."""

DRAW = 7
"""The sample is the same each time, so that a run can be resumed."""


def sample_of(evaluation: Evaluation, share: float) -> list[Categorised]:
    """Return a share of the instances, at least one, with the last strategy's result at its first limit."""
    ones = evaluation.of(evaluation.strategies[-1], evaluation.limits_s[0])
    count = min(len(ones), max(1, round(share * len(ones))))
    drawn = random.Random(DRAW).sample(range(len(ones)), count)  # noqa: S311
    return [ones[number] for number in sorted(drawn)]


def run_live(path: Path, sample: Sequence[Categorised], listener: Listener) -> tuple[LiveRow, ...]:
    """Run what has not been run yet, and return the rows of the whole sample."""
    with lock_folder(path):
        journal = TaskJournal(path / JOURNAL, LiveRow)
        missing = [one for one in sample if one.instance.case not in journal]
        if missing:
            request = RunRequest(tuple(live_scenario(one) for one in missing))
            run_id, began = make_run_id(), monotonic()
            listener.run_started(run_id, request.total)
            try:
                with (
                    Simulator(find_profile("deterministic")) as simulator,
                    open_context(request, run_id, listener, Stopwatch()) as context,
                ):
                    start_s = monotonic() - began
                    for one, scenario in zip(missing, request.scenarios, strict=True):
                        row = _live_row(one, run_scenario(context, scenario, 1, listener), simulator, start_s)
                        if not row.error:
                            journal.add(row.case, (row,))
            except StowageError as error:
                raise StowageError(
                    f"the runs on the real cluster ended early: {error}; what was run is kept, and the same "
                    "command continues with the rest"
                ) from error
    return live_rows(path)


def live_rows(path: Path) -> tuple[LiveRow, ...]:
    """Return what was run on a cluster until now."""
    journal = TaskJournal(path / JOURNAL, LiveRow)
    return tuple(row for case in journal for row in journal.get(case))


def live_scenario(one: Categorised) -> Scenario:
    """Return the instance as a scenario that asks for one plan and carries it out."""
    limit_s, strategy = one.result.limit_s, one.result.strategy
    # The paper's pods have no harm to fear.
    settings = OptimizerSettings(trigger="manual", time_limit_s=limit_s, policy="paper", strategy=strategy, harm="any")
    return replace(one.instance.scenario, optimizer=settings)


def _live_row(one: Categorised, outcome: ScenarioOutcome, simulator: Simulator, start_s: float) -> LiveRow:
    """Hold an outcome against the simulation."""
    took = []
    for _ in range(SIMULATIONS):
        began = perf_counter()
        simulated = simulate(outcome.source, simulator)
        took.append(perf_counter() - began)
    reached = outcome.states
    return LiveRow(
        case=one.instance.case,
        strategy=one.result.strategy,
        limit_s=one.result.limit_s,
        difference=difference(reached[BEFORE], simulated) if BEFORE in reached else "",
        simulated_s=median(took),
        cluster_s=sum(outcome.durations_s.get(step, 0.0) for step in PLACING),
        start_s=start_s,
        planned=one.placed_by_priority,
        executed=tuple(count_placed_by_priority(reached[AFTER]).values()) if AFTER in reached else (),
        moves=outcome.moves,
        evictions=outcome.evictions,
        error=outcome.error,
    )


def difference(cluster: ClusterState, simulated: ClusterState) -> str:
    """Return the first workload placed otherwise, replicas being interchangeable; empty if there is none."""
    there, here = list_placements(cluster), list_placements(simulated)
    for workload in sorted(there.keys() | here.keys()):
        on_cluster, in_simulation = there.get(workload, ()), here.get(workload, ())
        if on_cluster != in_simulation:
            real, made = (", ".join(one) or "no node" for one in (on_cluster, in_simulation))
            return f"{workload}: {real} on the cluster, {made} simulated"
    return ""


TITLE = "A sample on the real cluster"
HEADERS = (
    "instance", "placements", "simulated", "cluster", "ratio", "with its start", "planned by priority",
    "runs by priority", "moves", "evictions",
)  # fmt: skip


def live_table(rows: Sequence[LiveRow]) -> Table:
    """Return a row an instance; without any, a note that says how to get some."""
    if not rows:
        how = "Nothing was run on a cluster; --live 0.02 runs two in a hundred."
        return Table(TITLE, HEADERS, (), (how,))
    cells = tuple(
        (
            row.case, row.difference or "equal", f"{1000 * row.simulated_s:.0f} ms",
            f"{row.cluster_s:.1f} s", f"{ratio(row):.0f}", f"{full_ratio(row):.0f}",
            "+".join(map(str, row.planned)), "+".join(map(str, row.executed)), str(row.moves), str(row.evictions),
        )
        for row in rows
    )  # fmt: skip
    note = (
        f"{sum(not row.difference for row in rows)} of {len(rows)} are placed as the simulation says, ReplicaSet by "
        f"ReplicaSet. The cluster took {median(map(ratio, rows)):.0f} times as long (median), "
        f"{median(map(full_ratio, rows)):.0f} times with a start of its own for each instance, as published."
    )
    return Table(f"{TITLE}, with its plans carried out", HEADERS, cells, (note,))


def ratio(row: LiveRow) -> float:
    """Return how many times the simulation's time a running cluster took."""
    return row.cluster_s / row.simulated_s


def full_ratio(row: LiveRow) -> float:
    """Return how many times the simulation's time a fresh cluster would take."""
    return (row.cluster_s + row.start_s) / row.simulated_s
