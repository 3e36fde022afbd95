"""What a packing policy does on made days, beside the descheduler on the same days."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path

from benchmarks.command import Say, write_figures
from stowage_testbed.base.journal import TaskJournal
from stowage_testbed.policyday.arms import find_arm
from stowage_testbed.policyday.day import Day, make_day
from stowage_testbed.policyday.figures import ArmFigures
from stowage_testbed.policyday.policy import read_policy
from stowage_testbed.policyday.screen import Tried
from stowage_testbed.policyday.trial import Settings
from stowage_testbed.policyday.trying import try_policy
from stowage_testbed.simulate import find_profile
from stowage_testbed.text.figure import Figure, Target, at_least, at_most, figure

NAME = "bench-policy"
POLICY = Path(__file__).parent / "policy.yaml"
PROFILE = "deterministic"
WORLDS = (
    # the policy's arm, the descheduler's and nobody's, with the same scheduler
    ("policy", "high-node-utilization", "none"),
    (
        "policy-most-allocated",
        "high-node-utilization-most-allocated",
        "none-most-allocated",
    ),
)
"""The policy's arms have targets; the others are there to be compared with."""

KILLED = "policy-killed"
"""The first of them, with its process killed in each window again and again."""

BELOW_THE_MOST = 1
"""Nodes that a window may empty fewer than is proved to be the most."""

OF_THE_DESCHEDULERS = 0.5
"""Of its moves for an emptied node a policy may need so many."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What is tried."""

    name: str
    seeds: tuple[int, ...]
    nodes: int
    hours: float = 24.0
    proof_s: float = 20.0


SCOPES = {
    "smoke": Scope("smoke", (1,), 12, 6.0, 2.0),
    "default": Scope("default", (1, 2, 3), 200),
}
SCOPES["full"] = SCOPES["default"]


def run_benchmark(scope: Scope, results: Path, say: Say) -> str:
    """Measure, write ``<results>/bench-policy.json``, return the table.

    Arms that had a day already, in ``<results>/bench-policy.<scope>.jsonl``, are not
    tried again.

    Raises
    ------
    StowageError
        The scheduler, the descheduler or the optimiser failed.
    """
    journal = TaskJournal(results / f"{NAME}.{scope.name}.jsonl", Tried)
    arms = (KILLED, *(name for world in WORLDS for name in world))
    for arm in arms:
        for seed in scope.seeds:
            if _task(seed, arm) not in journal:
                journal.add(_task(seed, arm), (_try_arm(seed, arm, scope, say),))
    days = [
        _as_one([*chain.from_iterable(journal.get(_task(seed, arm)) for arm in arms)])
        for seed in scope.seeds
    ]
    return write_figures(
        results / f"{NAME}.json",
        list(figures_of_days(days)),
        {"scope": scope.name, **asdict(scope)},
        days=[one.document() for one in days],
    )


def _task(seed: int, arm: str) -> str:
    return f"seed {seed}, {arm}"


def _try_arm(seed: int, arm: str, scope: Scope, say: Say) -> Tried:
    """Have a day pass with an arm."""
    return try_policy(
        read_policy(POLICY),
        f"seed {seed}",
        # Without prices, as many nodes as can be are to be emptied: they are counted.
        make_day(Day(seed, scope.nodes, scope.hours, priced=False)),
        [find_arm(arm)],
        Settings(find_profile(PROFILE)),
        proof_s=scope.proof_s,
        say=say,
    )


def _as_one(tried: Sequence[Tried]) -> Tried:
    """Return a day with all the arms that it was tried with."""
    return replace(tried[0], arms=tuple(arm for one in tried for arm in one.arms))


def figures_of_days(days: Sequence[Tried]) -> Iterable[Figure]:
    """Yield the figures of each arm; those of the policy's have targets."""
    for policy, descheduler, nobody in WORLDS:
        most = _most_moves([*_of_arm(descheduler, days)])
        yield from _figures_of(policy, days, targets=True, most_moves=most)
        yield from _figures_of(descheduler, days)
        yield from _figures_of(nobody, days)
    yield from _figures_of(KILLED, days)
    for policy in (*(policy for policy, *_ in WORLDS), KILLED):
        yield from _windows_run(policy, days)


def _of_arm(name: str, days: Sequence[Tried]) -> Iterator[ArmFigures]:
    return (arm for day in days for arm in day.arms if arm.arm == name)


def _figures_of(
    name: str,
    all_days: Sequence[Tried],
    *,
    targets: bool = False,
    most_moves: float | None = None,
) -> Iterable[Figure]:
    days = [*_of_arm(name, all_days)]

    def target(one: Target) -> Target | None:
        return one if targets else None

    yield figure(
        f"{name}: nodes in use over time", "nodes", [d.nodes_mean for d in days], _mean
    )
    yield figure(
        f"{name}: pods that wait, over time",
        "pod hours",
        [day.waiting_pod_hours for day in days],
        _mean,
    )
    yield figure(
        f"{name}: nodes emptied in a window, beside the proved most",
        "nodes",
        [
            window.emptied - window.most_emptied
            for day in days
            for window in day.windows
            if window.most_emptied is not None
        ],
        min,
        target(at_least(-BELOW_THE_MOST, "nodes")),
        note="the worst window",
    )
    yield figure(
        f"{name}: moves for an emptied node",
        "moves",
        [day.moves_per_node for day in days if day.moves_per_node is not None],
        _mean,
        at_most(most_moves, "moves") if most_moves else None,
    )
    yield figure(
        f"{name}: budgets broken",
        "",
        [day.budgets_broken for day in days],
        sum,
        target(at_most(0)),
    )
    yield figure(
        f"{name}: pods moved twice within the cool-down",
        "",
        [day.moved_twice for day in days],
        sum,
        target(at_most(0)),
    )


def _windows_run(name: str, days: Sequence[Tried]) -> Iterable[Figure]:
    runs = [one.runs for day in _of_arm(name, days) for one in day.windows]
    zero = at_most(0)
    lost, twice = ([float(run == 0) for run in runs], [float(run > 1) for run in runs])
    yield figure(f"{name}: windows lost", "", lost, sum, zero, spread=False)
    yield figure(f"{name}: windows run twice", "", twice, sum, zero, spread=False)


def _most_moves(days: Sequence[ArmFigures]) -> float | None:
    """Return how many moves a policy may need for a node, by the descheduler's own.

    None where that has emptied no node: no number of moves is half of that.
    """
    emptied = sum(arm.emptied for arm in days)
    moves = sum(arm.moves for arm in days)
    return OF_THE_DESCHEDULERS * moves / emptied if emptied else None


def _mean(samples: Sequence[float]) -> float:
    return sum(samples) / len(samples)
