"""What a trace with an arm comes to, in figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from stowage_testbed.amounts.price import parse_price
from stowage_testbed.amounts.quantity import QuantityError
from stowage_testbed.policyday.trial import EVICTED, Trial
from stowage_testbed.simulate.virtual_time import Life
from stowage_testbed.trace.format import NodeSeen, PodCame
from stowage_testbed.trace.reading import Trace
from stowage_testbed.whatif.prices import LABEL


@dataclass(frozen=True, slots=True)
class WindowFigures:
    """Figures of a window; times are seconds from the beginning of the trace.

    ``most_emptied`` is proved for the cluster as it was when the window opened, and ``None`` where nothing was proved.
    ``refused`` counts, by reason, how often a pod was left where it was; ``runs`` is how often the policy says that the
    window has opened. ``returned`` are the emptied nodes that went, and came back while it was open, as more pods came
    than the others have room for.
    """

    start_s: float
    end_s: float
    nodes_before: int
    nodes_after: int
    emptied: int
    most_emptied: int | None
    moves: int
    refused: Mapping[str, int]
    runs: int = 0
    returned: int = 0


@dataclass(frozen=True, slots=True)
class ArmFigures:
    """Figures of a trace.

    Nodes in use are averaged over time; node hours and cost are of these, the cost in millionths, 0 where no node has a
    price. ``moves_per_node`` is for each emptied node, ``None`` where none was. ``budgets_broken`` counts evictions
    that left a budget with fewer pods than it asks for, ``moved_twice`` pods that were moved again within the
    cool-down.
    """

    arm: str
    nodes_mean: float
    node_hours: float
    cost_micros: int
    waiting_pod_hours: float
    emptied: int
    moves: int
    moves_per_node: float | None
    refused: Mapping[str, int]
    budgets_broken: int
    moved_twice: int
    windows: tuple[WindowFigures, ...]


def figures_of(trial: Trial, day: Trace, cool_down_s: float) -> ArmFigures:
    """Return the figures of a trial on a trace."""
    until_s, lives = trial.passed.until_s, trial.passed.lives
    came = (line for line in day.lines if isinstance(line, PodCame))
    daemons = frozenset(line.of for line in came if line.owner and line.owner.kind == "DaemonSet")
    used_s = used_by_node(lives, until_s, daemons)
    prices = _prices(day)
    moves = sum(len(one.left) for one in trial.windows)
    emptied = sum(len(one.emptied) for one in trial.windows)
    refused = sum((one.kept for one in trial.windows), Counter[str]())
    hours = {node: seconds / 3600 for node, seconds in used_s.items()}
    node_hours = sum(hours.values())
    ends = ((life.arrived_s, (life.bound_s, life.ended_s, until_s)) for life in lives)
    waited_s = (min(end_s for end_s in ends_s if end_s is not None) - arrived_s for arrived_s, ends_s in ends)
    return ArmFigures(
        arm=trial.arm.name,
        nodes_mean=node_hours * 3600 / until_s if until_s else 0.0,
        node_hours=node_hours,
        cost_micros=round(sum(prices.get(n, 0) * time for n, time in hours.items())),
        waiting_pod_hours=sum(waited_s) / 3600,
        emptied=emptied,
        moves=moves,
        moves_per_node=moves / emptied if emptied else None,
        refused=dict(refused.most_common()),
        budgets_broken=trial.passed.evictions.budgets_broken,
        moved_twice=count_moved_twice(lives, cool_down_s),
        windows=tuple(
            WindowFigures(
                one.window.start_s,
                one.window.end_s,
                len(one.used_before),
                len(one.used_after),
                len(one.emptied),
                one.most_emptied,
                len(one.left),
                dict(one.kept.most_common()),
                one.runs,
                len(one.returned),
            )
            for one in trial.windows
        ),
    )


def used_by_node(lives: Iterable[Life], until_s: float, left_out: frozenset[str] = frozenset()) -> dict[str, float]:
    """Return for how many seconds each node held a pod, apart from pods of the templates that are left out."""
    spans: dict[str, list[tuple[float, float]]] = {}
    for life in lives:
        if life.bound_s is not None and life.of not in left_out:
            end_s = until_s if life.ended_s is None else life.ended_s
            spans.setdefault(life.node, []).append((life.bound_s, end_s))
    return {node: _covered_s(sorted(held)) for node, held in spans.items()}


def _covered_s(spans: Iterable[tuple[float, float]]) -> float:
    """Return how long at least one of the spans lasts; they come in order."""
    total_s, reached_s = 0.0, 0.0
    for begin_s, end_s in spans:
        total_s += max(0.0, end_s - max(begin_s, reached_s))
        reached_s = max(reached_s, end_s)
    return total_s


def count_moved_twice(lives: Iterable[Life], cool_down_s: float) -> int:
    """Return how often a pod was evicted less than ``cool_down_s`` after the last."""
    evicted: dict[str, list[float]] = {}
    for life in lives:
        if life.how == EVICTED and life.ended_s is not None:
            evicted.setdefault(life.replaces or life.pod, []).append(life.ended_s)
    return sum(
        later - earlier < cool_down_s for times in evicted.values() for earlier, later in pairwise(sorted(times))
    )


def _prices(day: Trace) -> dict[str, int]:
    """Return the prices of nodes by their own label, in millionths an hour."""
    prices: dict[str, int] = {}
    for line in day.lines:
        if isinstance(line, NodeSeen):
            try:
                prices[line.name] = parse_price(line.node.labels.get(LABEL, ""))
            except QuantityError:
                continue
    return prices
