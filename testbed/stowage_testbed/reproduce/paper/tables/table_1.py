"""Table 1: how long a solve takes, and how much more of the nodes is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from stowage_testbed.instances.cell import NODES, PODS_PER_NODE, USAGES_PERCENT
from stowage_testbed.reproduce.paper.categorised import Categorised, Evaluation
from stowage_testbed.reproduce.paper.category import Baseline, Category
from stowage_testbed.reproduce.paper.published import (
    TABLE_1_COLUMNS,
    TABLE_1_CPU_POINTS,
    TABLE_1_DURATION_S,
    TABLE_1_LIMIT_S,
    TABLE_1_MEMORY_POINTS,
    TABLE_1_PRIORITIES,
)
from stowage_testbed.text.table import Table

COLUMNS = tuple((pods, nodes) for pods in PODS_PER_NODE for nodes in NODES)


@dataclass(frozen=True, slots=True)
class _Metric:
    name: str
    value: Callable[[Categorised], float]
    published: Mapping[int, Sequence[float]]


METRICS = (
    _Metric("duration (s)", lambda one: one.result.wall_s, TABLE_1_DURATION_S),
    _Metric(
        "Δ cpu (points)",
        lambda one: one.cpu_gain_points(Baseline.STOCK),
        TABLE_1_CPU_POINTS,
    ),
    _Metric(
        "Δ memory (points)",
        lambda one: one.memory_gain_points(Baseline.STOCK),
        TABLE_1_MEMORY_POINTS,
    ),
)


def table_1(evaluation: Evaluation) -> Table:
    """Return means over the calls, with four priorities, by usage and size."""
    limit_s = _limit(evaluation)
    return Table(
        title=f"Table 1, {TABLE_1_PRIORITIES} priorities, limit {limit_s:g} s",
        headers=(
            "usage", "metric", "who",
            *(f"{nodes} nodes, {pods} a node" for pods, nodes in COLUMNS),
        ),
        rows=tuple(_rows(evaluation, limit_s)),
        notes=(
            "Means over the instances on which the stock scheduler leaves a pod "
            "pending; utilisation is held against the stock scheduler's. The text of "
            "the published table has kept six of eight columns.",
            *(
                ()
                if limit_s == TABLE_1_LIMIT_S
                else (f"The published durations are at {TABLE_1_LIMIT_S:g} s.",)
            ),
        ),
    )  # fmt: skip


def _limit(evaluation: Evaluation) -> float:
    """Return the published limit if it was run, else the largest."""
    if TABLE_1_LIMIT_S in evaluation.limits_s:
        return TABLE_1_LIMIT_S
    return max(evaluation.limits_s)


def _rows(evaluation: Evaluation, limit_s: float) -> Iterator[tuple[str, ...]]:
    for usage in USAGES_PERCENT:
        for metric in METRICS:
            kept = dict(zip(TABLE_1_COLUMNS, metric.published[usage], strict=True))
            yield (
                f"{usage} %", metric.name, "published",
                *(f"{kept[size]:.1f}" if size in kept else "-" for size in COLUMNS),
            )  # fmt: skip
            for strategy in evaluation.strategies:
                groups = _groups(evaluation.of(strategy, limit_s), usage)
                yield (
                    "", "", strategy,
                    *(_mean(groups.get(size, ()), metric) for size in COLUMNS),
                )  # fmt: skip


def _groups(
    categorised: Sequence[Categorised], usage_percent: int
) -> dict[tuple[int, int], list[Categorised]]:
    groups: dict[tuple[int, int], list[Categorised]] = {}
    for one in categorised:
        instance = one.instance
        if (
            instance.usage_percent == usage_percent
            and instance.priorities == TABLE_1_PRIORITIES
            and one.category(Baseline.STOCK) is not Category.NO_CALLS
        ):
            size = (instance.pods_per_node, instance.nodes)
            groups.setdefault(size, []).append(one)
    return groups


def _mean(group: Sequence[Categorised], metric: _Metric) -> str:
    if not group:
        return "-"
    value = fmean(metric.value(one) for one in group)
    return f"{value:.2g}" if 0 < value < 1 else f"{value:.1f}"
