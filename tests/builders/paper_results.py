"""Instances and results of the paper's evaluation, made by hand."""

from collections.abc import Sequence

from stowage_testbed.reproduce import rebuilding
from stowage_testbed.reproduce.paper.evaluation import Categorised, Evaluation, InstanceRow
from stowage_testbed.reproduce.rebuilding import ResultRow, TierRow, Where


def an_instance(
    priorities: Sequence[int] = (2, 1, 1),
    *,
    start: Where = (0, 1, -1),
    stock: Where = (0, 1, -1),
    case: str = "paper-n4-p4-k2-u95-0",
    levels: int | None = None,
) -> InstanceRow:
    """Return an instance whose pods request a tenth of a node, two tenths, ..."""
    pods = len(priorities)
    return InstanceRow(
        case=case,
        nodes=4,
        pods_per_node=4,
        priorities=levels or max(priorities),
        usage_percent=95,
        number=0,
        seed=5,
        seeds_tried=1,
        node_cpu_milli=1000,
        node_memory_bytes=10_000,
        pod_priority=tuple(priorities),
        pod_cpu_milli=tuple(100 * (number + 1) for number in range(pods)),
        pod_memory_bytes=(1000,) * pods,
        start=start,
        stock=stock,
        stock_preempted=0,
        simulated_s=0.02,
    )


def a_result(
    plan: Where = (0, 1, 0),
    *,
    optimal: bool = True,
    strategy: str = "paper",
    case: str = "paper-n4-p4-k2-u95-0",
    tiers: tuple[TierRow, ...] = (),
    wall_s: float = 0.5,
) -> ResultRow:
    reason = "OPTIMAL" if optimal else "TIME_LIMIT"
    return ResultRow(case, strategy, 1.0, 2, reason, "", optimal, plan, 0, 0, tiers, wall_s, wall_s)


def an_evaluation(*categorised: Categorised, strategies: tuple[str, ...] = ("paper", "lexicographic")) -> Evaluation:
    return rebuilding.Evaluation(categorised, strategies, (1.0,), {}, {})
