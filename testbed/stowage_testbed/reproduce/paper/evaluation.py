"""The paper's instances, on which the default scheduler fails, what became of each, and the tables beside its own.

Seed 000: Christensen, Giallorenzo, Mauro, "Priority Matters: Optimising Kubernetes Clusters Usage with Constraint-Based
Pod Packing"; ``published.yaml`` has its numbers. As published, the deterministic scheduler gets the pods ReplicaSet by
ReplicaSet, and what it places whole is discarded. Here each instance walks a list of seeds of its own, so that they can
be found side by side.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib.resources import files
from itertools import product
from statistics import fmean
from time import perf_counter
from typing import Any

import yaml

from stowage_testbed.amounts.resources import CPU, MEMORY
from stowage_testbed.reproduce import rebuilding
from stowage_testbed.reproduce.rebuilding import PENDING, Instance, Solved, Where, facts_of, numbered
from stowage_testbed.reproduce.sweep import Tools
from stowage_testbed.scenario.instances import NODES, PODS_PER_NODE, USAGES_PERCENT, Case, Cell, Family
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.simulation import make_instance
from stowage_testbed.text.tables import Table

SEEDS_TRIED = 60
"""Until a cell is said to have no such instance of this number."""


@dataclass(frozen=True, slots=True)
class InstanceRow(Instance):
    """An instance on which the deterministic scheduler leaves pods pending, in ``simulated_s``.

    ``stock`` is where the stock scheduler leaves the pods; ``stock_preempted`` counts those preempted at least once.
    """

    node_cpu_milli: int
    node_memory_bytes: int
    pod_cpu_milli: tuple[int, ...]
    pod_memory_bytes: tuple[int, ...]
    stock: Where
    stock_preempted: int
    simulated_s: float

    @property
    def scenario(self) -> Scenario:
        """Return the scenario that it was generated as."""
        cell = Cell(self.nodes, self.pods_per_node, self.priorities, self.usage_percent)
        return Case(Family.PAPER, cell, self.number).scenario(self.seeds_tried - 1)

    def placements(self, baseline: Baseline) -> Where:
        """Return where a baseline leaves the pods."""
        return self.stock if baseline is Baseline.STOCK else self.start


def find_instance(case: Case, attempt: int, tools: Tools) -> InstanceRow | None:
    """Return the instance of a try with both baselines, if it has a pending pod."""
    scenario = case.scenario(attempt)
    instance = make_instance(scenario)
    began = perf_counter()
    placed = tools.deterministic.place(instance)
    simulated_s = perf_counter() - began
    if not placed.pending():
        return None
    stock = tools.stock.place(replace(instance, replace=True))
    (pool,) = scenario.nodes
    owners = [one for one in scenario.workload for _ in range(one.replicas)]
    return InstanceRow(
        **facts_of(case, scenario, attempt, numbered(scenario, placed.nodes)),
        node_cpu_milli=pool.resources[CPU],
        node_memory_bytes=pool.resources[MEMORY],
        pod_cpu_milli=tuple(one.requests[CPU] for one in owners),
        pod_memory_bytes=tuple(one.requests[MEMORY] for one in owners),
        stock=numbered(scenario, stock.nodes),
        stock_preempted=len(stock.evicted),
        simulated_s=simulated_s,
    )


class Category(StrEnum):
    """One bar of the stack, in the order in which the paper stacks them."""

    BETTER_OPTIMAL = "Better & Optimal"
    BETTER = "Better"
    DEFAULT_OPTIMAL = "KWOK Optimal"
    NO_CALLS = "No Calls"
    FAILURES = "Failures"


class Baseline(StrEnum):
    """What a plan is compared with: the stock scheduler with preemption, as published, or where the plan begins."""

    STOCK = "stock"
    DETERMINISTIC = "deterministic"


Categorised = Solved[InstanceRow]
Evaluation = rebuilding.Evaluation[InstanceRow]


def category(one: Categorised, baseline: Baseline) -> Category:
    """Return the category: pods placed of the highest priority decide, then of the next, as in their scripts."""
    theirs = one.instance.placements(baseline)
    if PENDING not in theirs:
        return Category.NO_CALLS
    ours, before = one.placed_by_priority, one.instance.placed_by_priority(theirs)
    if ours > before:
        return Category.BETTER_OPTIMAL if one.result.optimal else Category.BETTER
    return Category.DEFAULT_OPTIMAL if ours == before and one.result.optimal else Category.FAILURES


def gain_points(one: Categorised, baseline: Baseline, resource: str) -> float:
    """Return by how much more of a resource is used, in points of all of it."""
    instance = one.instance
    requests, of_node = instance.pod_memory_bytes, instance.node_memory_bytes
    if resource == CPU:
        requests, of_node = instance.pod_cpu_milli, instance.node_cpu_milli
    after, before = (
        sum(request for request, node in zip(requests, where, strict=True) if node != PENDING)
        for where in (one.result.plan, instance.placements(baseline))
    )
    return 100 * (after - before) / (instance.nodes * of_node)


Shares = dict[Category, float]


def shares(categorised: Iterable[Categorised], baseline: Baseline) -> Shares | None:
    """Return the share of each category; ``None`` of nothing."""
    counts = Counter(category(one, baseline) for one in categorised)
    total = counts.total()
    return {one: counts[one] / total for one in Category} if total else None


PUBLISHED: dict[str, Any] = yaml.safe_load(files(__package__).joinpath("published.yaml").read_text("utf-8"))
TABLE_1 = PUBLISHED["table_1"]

MEANINGS = {
    Baseline.STOCK: "against the stock scheduler with preemption, as published",
    Baseline.DETERMINISTIC: "against the deterministic scheduler without preemption",
}

HEADLINE_HEADERS = (
    "strategy", "limit", "instances", "better", "of them optimal", "KWOK optimal", "no calls", "failures",
    "better where called", "KWOK optimal where called",
)  # fmt: skip
HEADLINE_NOTE = (
    "Better: more pods of a higher priority have a node. Where called: of the instances on which the baseline leaves a "
    "pod pending."
)


def headline_table(evaluation: Evaluation, baseline: Baseline) -> Table:
    """Return the shares of every strategy and limit, the published ones first."""
    rows: list[tuple[str, ...]] = [
        ("published", f"{limit_s:g} s", "9600", f"> {one['better']:g} %", "-", f"> {one['default_optimal']:g} %",
         *"----")
        for limit_s, one in PUBLISHED["headlines"].items()
        if baseline is Baseline.STOCK and limit_s in evaluation.limits_s
    ]  # fmt: skip
    for limit_s, strategy, found in evaluation.groups():
        if known := shares(found, baseline):
            called, default = 1 - known[Category.NO_CALLS], known[Category.DEFAULT_OPTIMAL]
            better = known[Category.BETTER] + known[Category.BETTER_OPTIMAL]
            columns = (
                better, known[Category.BETTER_OPTIMAL], default, known[Category.NO_CALLS], known[Category.FAILURES],
                better / called if called else None, default / called if called else None,
            )  # fmt: skip
            percent = ("-" if share is None else f"{100 * share:.1f} %" for share in columns)
            rows.append((strategy, f"{limit_s:g} s", str(len(found)), *percent))
    title = f"Shares of all instances, {MEANINGS[baseline]}"
    return Table(title, HEADLINE_HEADERS, tuple(rows), (HEADLINE_NOTE,))


def headline_sentences(evaluation: Evaluation) -> Iterator[str]:
    """Yield the abstract's sentence, with our numbers in place of theirs."""
    for strategy, limit_s in product(evaluation.strategies, evaluation.limits_s):
        found = evaluation.of(strategy, limit_s)
        if known := shares(found, Baseline.STOCK):
            better = known[Category.BETTER] + known[Category.BETTER_OPTIMAL]
            one = PUBLISHED["headlines"].get(limit_s)
            theirs = f" (published: over {one['better']:g} % and {one['default_optimal']:g} %)" if one else ""
            yield (
                f"Within {limit_s:g} s the strategy {strategy} places more higher-priority pods than the default "
                f"scheduler in {100 * better:.0f} % of {len(found)} instances, and proves the default scheduler's "
                f"placement optimal in {100 * known[Category.DEFAULT_OPTIMAL]:.0f} %{theirs}."
            )


COLUMNS = tuple((pods, nodes) for pods in PODS_PER_NODE for nodes in NODES)
METRICS: tuple[tuple[str, str, Callable[[Categorised], float]], ...] = (
    ("duration_s", "duration (s)", lambda one: one.result.wall_s),
    ("cpu_points", "Δ cpu (points)", lambda one: gain_points(one, Baseline.STOCK, "cpu")),
    ("memory_points", "Δ memory (points)", lambda one: gain_points(one, Baseline.STOCK, "memory")),
)
"""The name in ``published.yaml``, the one that is shown, and the value."""


def table_1(evaluation: Evaluation) -> Table:
    """Return means over the calls, with four priorities, by usage and size."""
    limit_s = shown_limit(evaluation)
    groups = defaultdict[tuple[str, int, int, int], list[Categorised]](list)
    for one in evaluation.solved:
        found = one.instance
        called = category(one, Baseline.STOCK) is not Category.NO_CALLS
        if called and one.result.limit_s == limit_s and found.priorities == TABLE_1["priorities"]:
            groups[one.result.strategy, found.usage_percent, found.pods_per_node, found.nodes].append(one)
    rows: list[tuple[str, ...]] = []
    for usage, (name, shown, value) in product(USAGES_PERCENT, METRICS):
        printed = dict(zip(map(tuple, TABLE_1["columns"]), TABLE_1[name][usage], strict=True))
        cells = (f"{printed[size]:.1f}" if size in printed else "-" for size in COLUMNS)
        rows.append((f"{usage} %", shown, "published", *cells))
        for strategy in evaluation.strategies:
            values = (list(map(value, groups[strategy, usage, *size])) for size in COLUMNS)
            means = (fmean(ones) if ones else None for ones in values)
            rows.append(
                ("", "", strategy, *("-" if m is None else f"{m:.2g}" if 0 < m < 1 else f"{m:.1f}" for m in means))
            )
    notes = [
        "Means over the instances on which the stock scheduler leaves a pod pending; utilisation is held against the "
        "stock scheduler's. The text of the published table has kept six of eight columns."
    ]
    if limit_s != TABLE_1["limit_s"]:
        notes.append(f"The published durations are at {TABLE_1['limit_s']:g} s.")
    return Table(
        title=f"Table 1, {TABLE_1['priorities']} priorities, limit {limit_s:g} s",
        headers=("usage", "metric", "who", *(f"{nodes} nodes, {pods} a node" for pods, nodes in COLUMNS)),
        rows=tuple(rows),
        notes=tuple(notes),
    )


def shown_limit(evaluation: Evaluation) -> float:
    """Return the published limit if it was run, else the longest."""
    limits_s: tuple[float, ...] = evaluation.limits_s
    return TABLE_1["limit_s"] if TABLE_1["limit_s"] in limits_s else max(limits_s)
