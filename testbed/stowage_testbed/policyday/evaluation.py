"""A policy on a trace, arm by arm: its figures, the proof of what was possible, and how both are shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import pairwise
from typing import Any

from stowage_testbed.amounts.price import MICROS
from stowage_testbed.observe.pod import key_of
from stowage_testbed.policyday.policy import Arm, Policy, find_windows
from stowage_testbed.policyday.trial import EVICTED, Prove, Settings, State, Trial, run_arm
from stowage_testbed.simulate.virtual_time import Life
from stowage_testbed.text.tables import Table
from stowage_testbed.trace.format import NodeSeen, PodCame
from stowage_testbed.trace.reading import Trace
from stowage_testbed.whatif.emptying import Options, defragmentation_of
from stowage_testbed.whatif.inventory import inventory_of
from stowage_testbed.whatif.settings import PlanLimits, own_price, release_of

MOST_REASONS = 5


@dataclass(frozen=True, slots=True)
class PolicyEvaluation:
    """A policy with some arms on a trace of so many hours and nodes, which is called ``day``."""

    policy: str
    day: str
    hours: float
    nodes: int
    cool_down_s: float
    arms: tuple[ArmFigures, ...]


def evaluate_policy(
    policy: Policy,
    name: str,
    day: Trace,
    arms: Sequence[Arm],
    settings: Settings,
    *,
    proof_s: float,
    say: Callable[[str], None],
) -> PolicyEvaluation:
    """Replay a trace, called ``name``, once with each arm; ``proof_s`` is the time for each window's proof.

    ``say`` is told how far it is, and which windows never open. An `InputError` if the controller would refuse the
    policy's windows, and errors as of `run_arm`.
    """
    began, length_s = datetime.fromisoformat(day.header.began), day.lines[-1].t if day.lines else 0.0
    windows = find_windows(policy, began, length_s, say, minor=settings.minor)
    prove: Prove = partial(prove_most, policy, proof_s) if proof_s else (lambda _: None)
    figures = []
    for arm in arms:
        say(f"{name}, arm {arm.name}")
        figures.append(figures_of(run_arm(arm, day, policy, windows, settings, prove=prove), day, policy.cool_down_s))
    return PolicyEvaluation(
        policy=policy.name,
        day=name,
        hours=length_s / 3600,
        nodes=len({one.name for one in day.lines if isinstance(one, NodeSeen)}),
        cool_down_s=policy.cool_down_s,
        arms=tuple(figures),
    )


def prove_most(policy: Policy, time_limit_s: float, state: State) -> int | None:
    """Return how many nodes could be emptied at most, as ``stowage defragment`` does, within what a policy allows.

    Pods that cool down stay. The least gain is left aside. The result is ``None`` if there are no pods.
    """
    if not state["pods"]:
        return None
    release = release_of(None)
    limits = PlanLimits(time_limit_s, policy.max_moves, release.narrowed(policy.schedulers, policy.namespaces))
    options = Options(limits, release.schedulers[-1], nodes=policy.nodes)
    pods, budgets = pods_as_they_may_move(state), state["disruptionBudgets"]
    objects = {"Node": state["nodes"], "Pod": pods, "PodDisruptionBudget": budgets}
    inventory = inventory_of([{**one, "kind": kind} for kind, ones in objects.items() for one in ones])
    found = defragmentation_of(inventory, options)
    return found.before.nodes - found.least.nodes if found.least.nodes else None


def pods_as_they_may_move(state: State) -> list[dict[str, Any]]:
    """Return the pods; those that cool down say that they are not to be moved."""
    cooling = frozenset(state["coolingDown"])

    def fixed(pod: dict[str, Any]) -> dict[str, Any]:
        annotations = {**(pod["metadata"].get("annotations") or {}), "stowage.dev/do-not-move": "true"}
        return {**pod, "metadata": {**pod["metadata"], "annotations": annotations}}

    return [fixed(pod) if key_of(pod) in cooling else pod for pod in state["pods"]]


def make_tables(evaluation: PolicyEvaluation) -> Iterator[Table]:
    """Yield what fits on a screen."""
    yield Table(
        f"{evaluation.policy} on {evaluation.day}, in virtual time",
        (
            "arm", "nodes\nin use", "node\nhours", "cost", "pod hours\nwaited", "nodes\nemptied", "moves",
            "moves\na node", "budgets\nbroken", "moved\ntwice",
        ),
        tuple(
            (
                one.arm, f"{one.nodes_mean:.1f}", f"{one.node_hours:.0f}",
                f"{one.cost_micros / MICROS:.2f}" if one.cost_micros else "", f"{one.waiting_pod_hours:.2f}",
                str(one.emptied), str(one.moves), "" if one.moves_per_node is None else f"{one.moves_per_node:.1f}",
                str(one.budgets_broken), str(one.moved_twice),
            )
            for one in evaluation.arms
        ),
        (
            f"{evaluation.hours:.2f} h on {evaluation.nodes} nodes. Nodes in use are averaged over "
            f"time; moved twice is within {evaluation.cool_down_s / 3600:g} h.",
        ),
    )  # fmt: skip
    windows = (
        (
            _clock(one.start_s), _clock(one.end_s), arm.arm, str(one.nodes_before), str(one.nodes_after),
            str(one.emptied) + ("" if one.most_emptied is None else f" ({one.most_emptied})"), str(one.moves),
        )
        for arm in evaluation.arms
        for one in arm.windows
    )  # fmt: skip
    yield Table(
        "Windows",
        ("from", "until", "arm", "nodes\nbefore", "after", "emptied\n(at most)", "moves"),
        tuple(sorted(windows, key=lambda row: row[0])),
        (
            "In brackets: proved for the cluster as it was when the window opened; pods "
            "that come or go later may make more of it possible, or less.",
        ),
    )
    reasons = tuple(
        (arm.arm, str(times), reason)
        for arm in evaluation.arms
        for reason, times in list(arm.refused.items())[:MOST_REASONS]
    )
    if reasons:
        yield Table("What was left where it was", ("arm", "times", "why"), reasons)


def _clock(at_s: float) -> str:
    return f"{round(at_s) // 3600:02}:{round(at_s) % 3600 // 60:02}"


@dataclass(frozen=True, slots=True)
class WindowFigures:
    """Figures of a window; times are seconds from the beginning of the trace.

    ``most_emptied`` is proved for the cluster as it was when the window opened. ``refused`` counts pods left in place,
    by reason, ``runs`` how often the policy opened the window, ``returned`` emptied nodes that came back.
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
    """Figures of a trace; nodes in use are averaged over time, and node hours and cost, in millionths, are of these.

    ``budgets_broken`` counts evictions below a budget, ``moved_twice`` pods moved again within the cool-down.
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
    prices = {line.name: own_price(line.node.labels) for line in day.lines if isinstance(line, NodeSeen)}
    moves = sum(len(one.left) for one in trial.windows)
    emptied = sum(len(one.emptied) for one in trial.windows)
    refused = sum((one.refused for one in trial.windows), Counter[str]())
    hours = {node: seconds / 3600 for node, seconds in used_s.items()}
    node_hours = sum(hours.values())
    ends = ((life.arrived_s, (life.bound_s, life.ended_s, until_s)) for life in lives)
    waited_s = (min(end_s for end_s in ends_s if end_s is not None) - arrived_s for arrived_s, ends_s in ends)
    return ArmFigures(
        arm=trial.arm.name,
        nodes_mean=node_hours * 3600 / until_s if until_s else 0.0,
        node_hours=node_hours,
        cost_micros=round(sum(prices.get(node, 0) * time for node, time in hours.items())),
        waiting_pod_hours=sum(waited_s) / 3600,
        emptied=emptied,
        moves=moves,
        moves_per_node=moves / emptied if emptied else None,
        refused=dict(refused.most_common()),
        budgets_broken=trial.passed.evictions.budgets_broken,
        moved_twice=count_moved_twice(lives, cool_down_s),
        windows=tuple(
            WindowFigures(
                *one.window,
                nodes_before=len(one.used_before),
                nodes_after=len(one.used_after),
                emptied=len(one.emptied),
                most_emptied=one.most_emptied,
                moves=len(one.left),
                refused=dict(one.refused.most_common()),
                runs=one.runs,
                # Those of the emptied that came back before the window closed.
                returned=len(one.emptied & one.used_after),
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
    used_s = dict.fromkeys(spans, 0.0)
    for node, held in spans.items():
        reached_s = 0.0
        for begin_s, end_s in sorted(held):
            used_s[node] += max(0.0, end_s - max(begin_s, reached_s))
            reached_s = max(reached_s, end_s)
    return used_s


def count_moved_twice(lives: Iterable[Life], cool_down_s: float) -> int:
    """Return how often a pod was evicted less than ``cool_down_s`` after the last."""
    evicted: dict[str, list[float]] = {}
    for life in lives:
        if life.how == EVICTED and life.ended_s is not None:
            evicted.setdefault(life.replaces or life.pod, []).append(life.ended_s)
    return sum(
        later - earlier < cool_down_s for times in evicted.values() for earlier, later in pairwise(sorted(times))
    )
