"""The paper's tables, with our rows beside the published ones.

Seed 000: Christensen, Giallorenzo, Mauro, "Priority Matters: Optimising Kubernetes Clusters Usage with Constraint-Based
Pod Packing". Figure 3 and 4 are pictures, whose numbers the text does not give.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from statistics import fmean, median
from typing import NamedTuple

from stowage_testbed.instances.cell import NODES, PODS_PER_NODE, USAGES_PERCENT
from stowage_testbed.reproduce.paper.instances import Baseline, Categorised, Category, Evaluation, shares
from stowage_testbed.reproduce.paper.live import LiveRow
from stowage_testbed.text.tables import Table

STRATEGY = "paper"
LIMITS_S = (1.0, 10.0, 20.0)
SAMPLE = 100
"""Instances a cell."""


class Headline(NamedTuple):
    """Shares that the abstract gives for a limit, in percent ("over")."""

    better: float
    default_optimal: float


HEADLINES = {1.0: Headline(44, 19), 10.0: Headline(73, 19)}
"""Abstract, and "Our contribution", by limit in seconds."""

TABLE_1_LIMIT_S = 10.0
TABLE_1_PRIORITIES = 4

TABLE_1_COLUMNS = ((4, 4), (4, 8), (4, 16), (4, 32), (8, 4), (8, 8))
"""Pods per node and nodes of the values that the text of Table 1 has kept.

Its heading names 4, 8 and 32 nodes twice, over six values. The first four rise from
0.9 s to the limit of 10 s, which the text gives for 4 and for 32 nodes; so they are
read as 4, 8, 16 and 32 nodes with 4 pods each, and the last two as the first of 8 pods.
"""

TABLE_1_DURATION_S = {
    90: (0.9, 1.2, 2.4, 5.9, 1.0, 1.1),
    95: (0.9, 1.7, 5.0, 9.8, 1.1, 1.5),
    100: (0.9, 1.7, 5.2, 10.1, 1.0, 5.0),
    105: (0.9, 1.6, 6.0, 10.2, 1.2, 6.2),
}
"""Mean solver duration by usage in percent."""

TABLE_1_CPU_POINTS = {
    90: (3.3, 3.5, 3.4, 4.0, 3.9, 2.6),
    95: (2.4, 3.3, 3.6, 4.3, 2.6, 2.9),
    100: (2.5, 2.8, 3.2, 3.2, 1.8, 3.3),
    105: (2.1, 2.6, 3.2, 1.9, 2.5, 2.3),
}
"""Mean gain of CPU utilisation in percentage points."""

TABLE_1_MEMORY_POINTS = {
    90: (3.1, 3.7, 3.1, 3.9, 3.4, 2.6),
    95: (2.4, 3.3, 3.7, 4.3, 2.6, 2.9),
    100: (2.1, 2.5, 3.0, 3.3, 2.1, 3.1),
    105: (1.8, 2.1, 2.9, 2.1, 2.4, 2.8),
}
"""Mean gain of memory utilisation in percentage points."""

MEANINGS = {
    Baseline.STOCK: "against the stock scheduler with preemption, as published",
    Baseline.DETERMINISTIC: "against the deterministic scheduler without preemption",
}

HEADLINE_HEADERS = (
    "strategy", "limit", "instances", "better", "of them optimal", "KWOK optimal",
    "no calls", "failures", "better where called", "KWOK optimal where called",
)  # fmt: skip


def headline_table(evaluation: Evaluation, baseline: Baseline) -> Table:
    """Return the shares of every strategy and limit, the published ones first."""
    rows: list[tuple[str, ...]] = [
        ("published", f"{limit_s:g} s", "9600", f"> {one.better:g} %", "-", f"> {one.default_optimal:g} %", *"----")
        for limit_s, one in HEADLINES.items()
        if baseline is Baseline.STOCK and limit_s in evaluation.limits_s
    ]
    for limit_s, strategy, found in evaluation.groups():
        known = shares(found, baseline)
        if known is None:
            continue
        called, default = 1 - known[Category.NO_CALLS], known[Category.DEFAULT_OPTIMAL]
        better = known[Category.BETTER] + known[Category.BETTER_OPTIMAL]
        columns = (
            better, known[Category.BETTER_OPTIMAL], default, known[Category.NO_CALLS], known[Category.FAILURES],
            better / called if called else None, default / called if called else None,
        )  # fmt: skip
        percent = ("-" if share is None else f"{100 * share:.1f} %" for share in columns)
        rows.append((strategy, f"{limit_s:g} s", str(len(found)), *percent))
    return Table(
        title=f"Shares of all instances, {MEANINGS[baseline]}",
        headers=HEADLINE_HEADERS,
        rows=tuple(rows),
        notes=(
            "Better: more pods of a higher priority have a node. Where called: of the "
            "instances on which the baseline leaves a pod pending.",
        ),
    )


def headline_sentences(evaluation: Evaluation) -> Iterator[str]:
    """Yield the abstract's sentence, with our numbers in place of theirs."""
    for strategy in evaluation.strategies:
        for limit_s in evaluation.limits_s:
            found = evaluation.of(strategy, limit_s)
            known = shares(found, Baseline.STOCK)
            if known is None:
                continue
            better = known[Category.BETTER] + known[Category.BETTER_OPTIMAL]
            published = HEADLINES.get(limit_s)
            theirs = (
                f" (published: over {published.better:g} % and {published.default_optimal:g} %)" if published else ""
            )
            yield (
                f"Within {limit_s:g} s the strategy {strategy} places more "
                f"higher-priority pods than the default scheduler in "
                f"{100 * better:.0f} % of {len(found)} instances, and proves the "
                f"default scheduler's placement optimal in "
                f"{100 * known[Category.DEFAULT_OPTIMAL]:.0f} %{theirs}."
            )


LIVE_HEADERS = (
    "instance", "placements", "simulated", "cluster", "ratio", "with its start",
    "planned by priority", "runs by priority", "moves", "evictions",
)  # fmt: skip


def live_table(rows: Sequence[LiveRow]) -> Table:
    """Return a row an instance; without any, a note that says how to get some."""
    if not rows:
        how = "Nothing was run on a cluster; --live 0.02 runs two in a hundred."
        return Table("A sample on the real cluster", LIVE_HEADERS, (), (how,))
    equal = sum(not row.difference for row in rows)
    return Table(
        title="A sample on the real cluster, with its plans carried out",
        headers=LIVE_HEADERS,
        rows=tuple(
            (
                row.case, row.difference or "equal", f"{1000 * row.simulated_s:.0f} ms",
                f"{row.cluster_s:.1f} s", f"{ratio(row):.0f}", f"{full_ratio(row):.0f}",
                "+".join(map(str, row.planned)), "+".join(map(str, row.executed)), str(row.moves), str(row.evictions),
            )
            for row in rows
        ),
        notes=(
            f"{equal} of {len(rows)} are placed as the simulation says, ReplicaSet by "
            f"ReplicaSet. The cluster took {median(map(ratio, rows)):.0f} times as "
            f"long (median), {median(map(full_ratio, rows)):.0f} times with a start of "
            "its own for each instance, as published.",
        ),
    )  # fmt: skip


def ratio(row: LiveRow) -> float:
    """Return how many times the simulation's time a running cluster took."""
    return row.cluster_s / row.simulated_s


def full_ratio(row: LiveRow) -> float:
    """Return how many times the simulation's time a fresh cluster would take."""
    return (row.cluster_s + row.start_s) / row.simulated_s


COLUMNS = tuple((pods, nodes) for pods in PODS_PER_NODE for nodes in NODES)


class _Metric(NamedTuple):
    name: str
    value: Callable[[Categorised], float]
    published: Mapping[int, Sequence[float]]


METRICS = (
    _Metric("duration (s)", lambda one: one.result.wall_s, TABLE_1_DURATION_S),
    _Metric("Δ cpu (points)", lambda one: one.gain_points(Baseline.STOCK, "cpu"), TABLE_1_CPU_POINTS),
    _Metric("Δ memory (points)", lambda one: one.gain_points(Baseline.STOCK, "memory"), TABLE_1_MEMORY_POINTS),
)


def table_1(evaluation: Evaluation) -> Table:
    """Return means over the calls, with four priorities, by usage and size."""
    limit_s = shown_limit(evaluation)
    groups = defaultdict[tuple[str, int, int, int], list[Categorised]](list)
    for one in evaluation.solved:
        found = one.instance
        called = one.category(Baseline.STOCK) is not Category.NO_CALLS
        if called and one.result.limit_s == limit_s and found.priorities == TABLE_1_PRIORITIES:
            groups[one.result.strategy, found.usage_percent, found.pods_per_node, found.nodes].append(one)
    rows: list[tuple[str, ...]] = []
    for usage, metric in product(USAGES_PERCENT, METRICS):
        printed = dict(zip(TABLE_1_COLUMNS, metric.published[usage], strict=True))
        cells = (f"{printed[size]:.1f}" if size in printed else "-" for size in COLUMNS)
        rows.append((f"{usage} %", metric.name, "published", *cells))
        for strategy in evaluation.strategies:
            means = (_mean(groups[strategy, usage, *size], metric) for size in COLUMNS)
            rows.append(("", "", strategy, *means))
    return Table(
        title=f"Table 1, {TABLE_1_PRIORITIES} priorities, limit {limit_s:g} s",
        headers=("usage", "metric", "who", *(f"{nodes} nodes, {pods} a node" for pods, nodes in COLUMNS)),
        rows=tuple(rows),
        notes=(
            "Means over the instances on which the stock scheduler leaves a pod "
            "pending; utilisation is held against the stock scheduler's. The text of "
            "the published table has kept six of eight columns.",
            *(() if limit_s == TABLE_1_LIMIT_S else (f"The published durations are at {TABLE_1_LIMIT_S:g} s.",)),
        ),
    )


def shown_limit(evaluation: Evaluation) -> float:
    """Return the published limit if it was run, else the longest."""
    if TABLE_1_LIMIT_S in evaluation.limits_s:
        return TABLE_1_LIMIT_S
    return max(evaluation.limits_s)


def _mean(group: Sequence[Categorised], metric: _Metric) -> str:
    if not group:
        return "-"
    value = fmean(metric.value(one) for one in group)
    return f"{value:.2g}" if 0 < value < 1 else f"{value:.1f}"
