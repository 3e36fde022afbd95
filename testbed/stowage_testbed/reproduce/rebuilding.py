"""Rebuilding an evaluation that is a grid of cells: `Rebuilding` finds, solves, saves and shows its instances.

In the rows of instances and results, pods and nodes are numbers in the order of arrival and of names.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from fnmatch import filter as filter_names
from functools import partial
from itertools import accumulate, product
from pathlib import Path
from time import perf_counter
from typing import Any, Generic, TypeVar

import msgspec

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.amounts.resources import message_of
from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.base.files import write_whole
from stowage_testbed.base.journal import TaskJournal
from stowage_testbed.observe.pod import WORKLOAD_LABEL
from stowage_testbed.optimizer_service.service import call_failed
from stowage_testbed.reproduce.sweep import (
    Header,
    SweepListener,
    Task,
    Tools,
    Workers,
    execute,
    frame_of,
    open_sweep,
    read_header,
    read_rows,
    write_frame,
)
from stowage_testbed.scenario.instances import REQUIRED, Case, Cell, Family
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.simulation import NAMESPACE
from stowage_testbed.text.figure import Figure, at_most, figure, table
from stowage_testbed.text.tables import Table, markdown_text, terminal_text
from stowage_testbed.toolchain.environment import environment

PENDING = -1

Where = tuple[int, ...]
"""The node of each pod."""

OVERRAN = "the solver overran its time limit"
"""How the service says that it killed a solve, by the wall clock."""

SEED = 1


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance on which a heuristic leaves pods out; every plan begins with ``start``, where it left them."""

    case: str
    nodes: int
    pods_per_node: int
    priorities: int
    usage_percent: int
    number: int
    seed: int
    seeds_tried: int
    pod_priority: tuple[int, ...]
    start: Where

    def placed_by_priority(self, where: Where) -> tuple[int, ...]:
        """Return how many pods have a node, by priority, the highest first."""
        pairs = zip(self.pod_priority, where, strict=True)
        counts = Counter(priority for priority, node in pairs if node != PENDING)
        return tuple(counts[one] for one in sorted(set(self.pod_priority), reverse=True))


InstanceT = TypeVar("InstanceT", bound=Instance)
Attempt = Callable[[Case, int, Tools], InstanceT | None]
"""Returns the instance of a case's n-th try, if the heuristic leaves a pod of it out."""


@dataclass(frozen=True, slots=True)
class TierRow:
    """What a plan claims of one tier; see the contract's TierResult."""

    priority: int
    placed_before: int
    placed: int
    upper_bound: int
    optimal: bool
    disruption: int
    disruption_lower_bound: int

    @classmethod
    def of(cls, tier: pb.TierResult) -> TierRow:
        """Return the claims of a plan about a tier."""
        return cls(*(getattr(tier, one.name) for one in fields(cls)))


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One strategy on one instance; ``plan`` is where the pods are once it is carried out.

    ``optimal``: it proved that no plan places more, and none as many with less disruption. ``wall_s`` is from the call
    to its last answer, ``solve_s`` the solve alone.
    """

    case: str
    strategy: str
    limit_s: float
    cores: int
    end_reason: str
    message: str
    optimal: bool
    plan: Where
    moves: int
    evictions: int
    tiers: tuple[TierRow, ...]
    wall_s: float
    solve_s: float


def facts_of(case: Case, scenario: Scenario, attempt: int, start: Where) -> dict[str, Any]:
    """Return the fields of the `Instance` that a try has found."""
    return {
        "case": case.id,
        "nodes": case.cell.nodes,
        "pods_per_node": case.cell.pods_per_node,
        "priorities": case.cell.priorities,
        "usage_percent": case.cell.usage_percent,
        "number": case.number,
        "seed": case.seed(attempt),
        "seeds_tried": attempt + 1,
        "pod_priority": tuple(one.priority for one in scenario.workload for _ in range(one.replicas)),
        "start": start,
    }


def numbered(scenario: Scenario, nodes: Mapping[str, str | None]) -> Where:
    """Return where the pods are, by their number, from their nodes by full name."""
    numbers = {name: number for number, name in enumerate(node_names(scenario))}
    return tuple(numbers.get(nodes[f"{NAMESPACE}/{name}"] or "", PENDING) for name in pod_names(scenario))


def pod_names(scenario: Scenario) -> list[str]:
    """Return the names of the pods in the order of arrival."""
    return [f"{one.name}-{number}" for one in scenario.workload for number in range(one.replicas)]


def node_names(scenario: Scenario) -> list[str]:
    """Return the names of the nodes in their order."""
    return [name for pool in scenario.nodes for name in pool.node_names()]


def select(case: Case, tries: int, attempt: Attempt[InstanceT], tools: Tools) -> tuple[InstanceT, ...]:
    """Return the instance of a case: the first try on which the heuristic leaves a pod out; none after so many."""
    for number in range(tries):
        found = attempt(case, number, tools)
        if found is not None:
            return (found,)
    return ()


def solve(
    case: Case, instance: Instance, strategy: str, limit_s: float, tools: Tools, *, deterministic: bool
) -> tuple[ResultRow, ...]:
    """Return what a strategy made of an instance, by the paper's policy; ``deterministic`` on one core."""
    scenario = case.scenario(instance.seeds_tried - 1)
    start, cores = instance.start, 1 if deterministic else tools.cores
    names, nodes = pod_names(scenario), node_names(scenario)
    placed = {name: None if at == PENDING else nodes[at] for name, at in zip(names, start, strict=True)}
    options = pb.SolveOptions(
        strategy=strategy,
        time_limit_s=limit_s,
        policy=pb.POLICY_PAPER,
        seed=SEED,
        deterministic=deterministic,
        workers=cores,
    )
    service, snapshot = tools.service, snapshot_of(scenario, placed)
    began = perf_counter()
    try:
        last = service.last_answer(pb.SolveRequest(snapshot=snapshot, options=options))
    except StowageError as error:
        raise call_failed(case.id, strategy, str(error)) from None
    wall_s = perf_counter() - began
    if deterministic and last.message.startswith(OVERRAN):
        why = f"{_solve_id(case, strategy, limit_s, deterministic)}: the machine was too busy for its steps within"
        raise StowageError(f"{why} {limit_s:g} s; raise --limits, or use fewer --workers")
    plan = last.plan
    row = ResultRow(
        case=case.id,
        strategy=strategy,
        limit_s=limit_s,
        cores=cores,
        end_reason=pb.EndReason.Name(last.end_reason).removeprefix("END_REASON_"),
        message=last.message,
        optimal=plan.optimal,
        plan=carried_out(start, plan, names, nodes),
        moves=len(plan.moves),
        evictions=len(plan.evictions),
        tiers=tuple(map(TierRow.of, plan.tiers)),
        wall_s=wall_s,
        solve_s=last.durations.solve_s,
    )
    return (row,)


def _solve_id(case: Case, strategy: str, limit_s: float, deterministic: bool) -> str:
    return f"{case.id} {strategy} {limit_s:g} s{' in steps' if deterministic else ''}"


def carried_out(start: Where, plan: pb.Plan, names: Sequence[str], nodes: Sequence[str]) -> Where:
    """Return where the pods are when ``plan`` is carried out from ``start``; a pod's UID is its name."""
    where = dict(zip(names, start, strict=True))
    numbers = {name: number for number, name in enumerate(nodes)}
    for placement in plan.placements:
        where[placement.pod_uid] = numbers[placement.node]
    for move in plan.moves:
        where[move.pod_uid] = numbers[move.to_node]
    for eviction in plan.evictions:
        where[eviction.pod_uid] = PENDING
    return tuple(where[name] for name in names)


def snapshot_of(scenario: Scenario, placements: Mapping[str, str | None]) -> pb.Snapshot:
    """Return the snapshot of a filled cluster; ``placements`` has the node of each ``<workload>-<number>``, or None."""
    sizes = {name: pool.resources for pool in scenario.nodes for name in pool.node_names()}
    snapshot = pb.Snapshot(id=f"{scenario.name}-{scenario.instance.seed if scenario.instance else 0}")
    for node in scenario.first_nodes:
        name, labels = node["metadata"]["name"], node["metadata"]["labels"]
        snapshot.nodes.add(name=name, allocatable=message_of(sizes[name]), labels=labels)
    for workload in scenario.workload:
        name = workload.name
        terms = workload.pod.get("affinity", {}).get("nodeAffinity", {}).get(REQUIRED, {}).get("nodeSelectorTerms", ())
        snapshot.pod_classes.add(
            id=name,
            namespace=NAMESPACE,
            labels={**workload.labels, WORKLOAD_LABEL: name},
            owner=pb.Owner(kind=workload.kind, name=name, uid=f"owner-{name}"),
            priority=workload.priority,
            requests=message_of(workload.requests),
            required_node_affinity=[
                pb.NodeSelectorTerm(match_expressions=[pb.Requirement(**one) for one in term["matchExpressions"]])
                for term in terms
            ],
        )
        for number in range(workload.replicas):
            pod = f"{name}-{number}"
            at = placements[pod] or ""
            snapshot.pods.add(uid=pod, namespace=NAMESPACE, name=pod, class_id=name, node=at, movable=True)
    return snapshot


INSTANCES, RESULTS = "instances", "results"
TABLES = "tables.md"


@dataclass(frozen=True, slots=True)
class GridRequest:
    """Cells by name, instances a cell, strategies, limits; ``deterministic``: work counted in steps on one core."""

    cells: tuple[str, ...]
    sample: int
    strategies: tuple[str, ...]
    limits_s: tuple[float, ...]
    deterministic: bool = False


def choose_cells(patterns: Sequence[str], grid: Iterable[Cell]) -> tuple[str, ...]:
    """Return the names of a grid's cells that match, all without a pattern; an `InputError` if one matches none."""
    known = [cell.name for cell in grid]
    for pattern in patterns:
        if not filter_names(known, pattern):
            raise InputError(
                f"--cells {pattern!r}: no cell of the grid is called so; they are called as in {known[0]} "
                "(nodes, pods per node, priorities, usage in percent), and n4-* means all with four nodes"
            )
    wanted = {name for pattern in patterns or ("*",) for name in filter_names(known, pattern)}
    return tuple(name for name in known if name in wanted)


@dataclass(frozen=True, slots=True)
class Solved(Generic[InstanceT]):
    """A result and its instance."""

    instance: InstanceT
    result: ResultRow

    @property
    def placed_by_priority(self) -> tuple[int, ...]:
        """Return how many pods the plan places, the highest priority first."""
        return self.instance.placed_by_priority(self.result.plan)

    @property
    def worth(self) -> tuple[tuple[int, int], ...]:
        """Return what Algorithm 1 maximises, tier by tier: placed, then undisrupted."""
        tiers = sorted(self.result.tiers, key=lambda tier: -tier.priority)
        if not tiers:
            # No plan was published in time: nothing moves.
            return tuple((count, 0) for count in accumulate(self.placed_by_priority))
        return tuple((tier.placed, -tier.disruption) for tier in tiers)


@dataclass(frozen=True, slots=True)
class Evaluation(Generic[InstanceT]):
    """All results of a sweep; ``missing`` counts cases without an instance by cell, ``failures`` is by task."""

    solved: tuple[Solved[InstanceT], ...]
    strategies: tuple[str, ...]
    limits_s: tuple[float, ...]
    missing: Mapping[str, int]
    failures: Mapping[str, str]

    @property
    def instances(self) -> int:
        """Return how many instances were solved."""
        return len({one.result.case for one in self.solved})

    def of(self, strategy: str, limit_s: float) -> tuple[Solved[InstanceT], ...]:
        """Return the results of a strategy with a limit."""
        return tuple(one for one in self.solved if one.result.strategy == strategy and one.result.limit_s == limit_s)

    def groups(self) -> Iterator[tuple[float, str, tuple[Solved[InstanceT], ...]]]:
        """Yield the results by limit and strategy."""
        for limit_s, strategy in product(self.limits_s, self.strategies):
            yield limit_s, strategy, self.of(strategy, limit_s)

    def pairs(self, one: str, other: str, limit_s: float) -> list[tuple[Solved[InstanceT], Solved[InstanceT]]]:
        """Return what two strategies made of each instance that both solved."""
        others = {solved.result.case: solved for solved in self.of(other, limit_s)}
        found = self.of(one, limit_s)
        return [(solved, others[solved.result.case]) for solved in found if solved.result.case in others]


def losses(pairs: Iterable[tuple[Solved[InstanceT], Solved[InstanceT]]]) -> list[str]:
    """Return the instances on which the first of a pair ends worse, tier by tier."""
    return [one.instance.case for one, other in pairs if one.worth < other.worth]


def losses_figure(name: str, pairs: Sequence[tuple[Solved[InstanceT], Solved[InstanceT]]]) -> Figure:
    """Return how often the first of a pair ends worse; it never should."""
    lost = losses(pairs)
    hits = [float(one.instance.case in lost) for one, _ in pairs]
    return figure(name, "instances", hits, sum, at_most(0), spread=False, note=", ".join(lost[:5]))


def failures_figure(name: str, evaluation: Evaluation[InstanceT]) -> Figure:
    """Return how many tasks could not be carried out, and why."""
    failures = evaluation.failures
    return Figure(name, len(failures), "tasks", "<= 0", not failures, note="; ".join(failures.values())[:200])


Shown = tuple[Sequence[Table], Sequence[Figure], str]
"""Of an evaluation: its tables, its figures, and what else a terminal says."""


@dataclass(frozen=True, slots=True)
class Rebuilding(Generic[InstanceT]):
    """How one paper's evaluation is rebuilt: its instances, of each family in each cell, and how results are shown."""

    kind: str
    row_type: type[InstanceT]
    grid: tuple[Cell, ...]
    families: tuple[Family, ...]
    strategies: tuple[str, ...]
    tries: int
    attempt: Attempt[InstanceT]
    show: Callable[[Path, Evaluation[InstanceT], Header], Shown]

    def rebuild(
        self, request: GridRequest, path: Path, workers: Workers, listener: SweepListener
    ) -> Evaluation[InstanceT]:
        """Do what is left to do, write the Parquet files in one order, and return all results."""
        with open_sweep(path, self.kind, msgspec.to_builtins(request)):
            instances = TaskJournal(path / f"{INSTANCES}.jsonl", self.row_type)
            results = TaskJournal(path / f"{RESULTS}.jsonl", ResultRow)
            cases = self._cases(request)
            selects = [Task(case.id, partial(select, case, self.tries, self.attempt)) for case in cases]
            unfound = execute("instances", selects, instances, workers, listener)
            arms = [(strategy, limit_s) for limit_s in request.limits_s for strategy in request.strategies]
            solves, ordered = list[Task[ResultRow]](), list[str]()
            for number, case in enumerate(cases):
                for instance in instances.get(case.id):
                    tasks = [
                        Task(
                            _solve_id(case, *arm, request.deterministic),
                            partial(solve, case, instance, *arm, deterministic=request.deterministic),
                        )
                        for arm in arms
                    ]
                    ordered += [task.id for task in tasks]
                    # A B for one instance and B A for the next.
                    solves += reversed(tasks) if number % 2 else tasks
            unsolved = execute("solves", solves, results, workers, listener)
            # However the rows came, each result stands beside its whole instance.
            known = frame_of((row for case in cases for row in instances.get(case.id)), self.row_type)
            found = frame_of((row for task in ordered for row in results.get(task)), ResultRow)
            write_frame(path / f"{INSTANCES}.parquet", known)
            write_frame(path / f"{RESULTS}.parquet", found.join(known, on="case", how="left", maintain_order="left"))
        return self.read(path, {**unfound, **unsolved})

    def read(self, path: Path, failures: Mapping[str, str] | None = None) -> Evaluation[InstanceT]:
        """Return what the folder's Parquet files hold; ``failures`` has reasons by task."""
        request = msgspec.convert(read_header(path).scope, GridRequest)
        instances = {row.case: row for row in read_rows(path / f"{INSTANCES}.parquet", self.row_type)}
        results = read_rows(path / f"{RESULTS}.parquet", ResultRow)
        return Evaluation(
            solved=tuple(Solved(instances[one.case], one) for one in results),
            strategies=request.strategies,
            limits_s=request.limits_s,
            missing=Counter(case.cell.name for case in self._cases(request) if case.id not in instances),
            failures=dict(failures or {}),
        )

    def report(
        self, path: Path, figures_file: Path, failures: Mapping[str, str] | None = None, minutes: float | None = None
    ) -> str:
        """Write tables and figures of a folder, and return what a terminal shows; ``failures`` has reasons by task."""
        header = read_header(path)
        tables, figures, more = self.show(path, self.read(path, failures), header)
        return write_tables(path, figures_file, tables, figures, {"scope": header.scope, "minutes": minutes}) + more

    def _cases(self, request: GridRequest) -> list[Case]:
        """Return the cases: first instances of all cells before second ones."""
        cells = [cell for cell in self.grid if cell.name in request.cells]
        return [
            Case(family, cell, number) for number, cell, family in product(range(request.sample), cells, self.families)
        ]


def write_tables(
    folder: Path, figures_file: Path, tables: Sequence[Table], figures: Sequence[Figure], facts: Mapping[str, Any]
) -> str:
    """Write tables to a folder, and figures with facts to a JSON file; return what a terminal shows."""
    write_whole(folder / TABLES, markdown_text(tables))
    return f"{terminal_text(tables)}\n\n{write_figures(figures_file, figures, facts)}"


def write_figures(path: Path, figures: Sequence[Figure], facts: Mapping[str, Any], **details: Any) -> str:
    """Write figures as JSON, with the details of a run; return them as a table."""
    content = {"environment": {**environment(), **facts}, "figures": [asdict(one) for one in figures], **details}
    write_whole(path, json.dumps(content, indent=1) + "\n")
    return f"{table(figures)}\n\nfigures: {path}"
