"""The paper's tables, with our rows beside those of ``published.yaml``.

Seed 000: Christensen, Giallorenzo, Mauro, "Priority Matters: Optimising Kubernetes Clusters Usage with Constraint-Based
Pod Packing".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from itertools import product
from statistics import fmean, median
from typing import Any

import yaml

from stowage_testbed.reproduce.paper.instances import Baseline, Categorised, Category, Evaluation, shares
from stowage_testbed.reproduce.paper.live import LiveRow
from stowage_testbed.scenario.instances import NODES, PODS_PER_NODE, USAGES_PERCENT
from stowage_testbed.text.tables import Table

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


LIVE_TITLE = "A sample on the real cluster"
LIVE_HEADERS = (
    "instance", "placements", "simulated", "cluster", "ratio", "with its start", "planned by priority",
    "runs by priority", "moves", "evictions",
)  # fmt: skip


def live_table(rows: Sequence[LiveRow]) -> Table:
    """Return a row an instance; without any, a note that says how to get some."""
    if not rows:
        how = "Nothing was run on a cluster; --live 0.02 runs two in a hundred."
        return Table(LIVE_TITLE, LIVE_HEADERS, (), (how,))
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
    return Table(f"{LIVE_TITLE}, with its plans carried out", LIVE_HEADERS, cells, (note,))


def ratio(row: LiveRow) -> float:
    """Return how many times the simulation's time a running cluster took."""
    return row.cluster_s / row.simulated_s


def full_ratio(row: LiveRow) -> float:
    """Return how many times the simulation's time a fresh cluster would take."""
    return (row.cluster_s + row.start_s) / row.simulated_s


COLUMNS = tuple((pods, nodes) for pods in PODS_PER_NODE for nodes in NODES)
METRICS: tuple[tuple[str, str, Callable[[Categorised], float]], ...] = (
    ("duration_s", "duration (s)", lambda one: one.result.wall_s),
    ("cpu_points", "Δ cpu (points)", lambda one: one.gain_points(Baseline.STOCK, "cpu")),
    ("memory_points", "Δ memory (points)", lambda one: one.gain_points(Baseline.STOCK, "memory")),
)
"""The name in ``published.yaml``, the one that is shown, and the value."""


def table_1(evaluation: Evaluation) -> Table:
    """Return means over the calls, with four priorities, by usage and size."""
    limit_s = shown_limit(evaluation)
    groups = defaultdict[tuple[str, int, int, int], list[Categorised]](list)
    for one in evaluation.solved:
        found = one.instance
        called = one.category(Baseline.STOCK) is not Category.NO_CALLS
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
