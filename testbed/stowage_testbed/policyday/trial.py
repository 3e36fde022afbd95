"""A day with one arm: what acts in the windows, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path

from stowage_testbed.policyday.arms import Arm, configured
from stowage_testbed.policyday.descheduler import THRESHOLDS, Descheduler
from stowage_testbed.policyday.state import State, broken_budgets, nodes_in_use
from stowage_testbed.policyday.windows import Opening, Window, list_windows
from stowage_testbed.simulate.trace_events import make_events
from stowage_testbed.simulate.virtual_time import PassedTime
from stowage_testbed.simulate.world import World
from stowage_testbed.trace.reading import Trace

INTERVAL_S = 300.0
"""How often the descheduler looks at the cluster, by its own default."""

Prove = Callable[[State], int | None]
"""Returns how many nodes of a state could be emptied at most; None if not known."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How arms go through a day.

    Attributes
    ----------
    profile
        The KubeSchedulerConfiguration of the world's scheduler.
    interval_s
        Between two passes of the descheduler within a window.
    thresholds
        The descheduler's, in percent by resource.
    """

    profile: Path
    interval_s: float = INTERVAL_S
    thresholds: Mapping[str, float] = field(default_factory=lambda: dict(THRESHOLDS))
    minor: str | None = None


@dataclass(slots=True)
class WindowTold:
    """What happened in a window.

    Attributes
    ----------
    used_before, used_after
        Nodes in use when it opened, and when it closed.
    most_emptied
        Proved limit on how many nodes could be emptied when it opened.
    moves
        Pods that were evicted, with what they left.
    kept
        Pods that were not evicted, by reason, as often as that was said.
    broken
        Budgets that an arm left with fewer pods than they need.
    """

    window: Window
    used_before: frozenset[str] = frozenset()
    used_after: frozenset[str] = frozenset()
    most_emptied: int | None = None
    moves: list[tuple[str, str]] = field(default_factory=list)
    kept: Counter[str] = field(default_factory=Counter)
    broken: set[str] = field(default_factory=set)

    @property
    def emptied(self) -> frozenset[str]:
        """The nodes that were emptied by evicting pods, and still were at the end."""
        left = {node for _, node in self.moves}
        return (self.used_before & left) - self.used_after


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of a day with one arm."""

    arm: Arm
    passed: PassedTime
    windows: tuple[WindowTold, ...]


def windows_of(day: Trace, openings: tuple[Opening, ...]) -> tuple[Window, ...]:
    """Return when the windows are open on a day, as `list_windows` says and raises."""
    length_s = day.lines[-1].t if day.lines else 0.0
    return list_windows(openings, datetime.fromisoformat(day.header.began), length_s)


def try_arm(
    arm: Arm,
    day: Trace,
    windows: tuple[Window, ...],
    settings: Settings,
    prove: Prove = lambda _: None,
) -> Trial:
    """Have a day pass with an arm.

    Raises
    ------
    ToolMissingError
        A tool is not installed.
    StowageError
        The scheduler or the descheduler failed.
    """
    with ExitStack() as stack:
        config = stack.enter_context(configured(arm, settings.profile))
        world = stack.enter_context(World(config, minor=settings.minor))
        descheduler = (
            stack.enter_context(Descheduler(settings.thresholds))
            if arm.deschedules
            else None
        )
        acting = _Acting(world, prove, descheduler)
        told = [WindowTold(window) for window in windows]
        agenda = _agenda(told, acting, settings.interval_s)
        due = next(agenda, None)
        for event in make_events(day):
            # What happens at that very time comes first.
            while due is not None and due[0] < event["at"]:
                at_s, act = due
                act(at_s)
                due = next(agenda, None)
            world.happen(event)
        for at_s, act in (*filter(None, (due,)), *agenda):
            act(at_s)
        return Trial(arm, world.end(), tuple(told))


_Act = Callable[[float], None]


def _agenda(
    told: list[WindowTold], acting: _Acting, interval_s: float
) -> Iterator[tuple[float, _Act]]:
    """Yield what is to be done when, in the order of the times."""
    for one in told:
        at_s, end_s = one.window.start_s, one.window.end_s
        yield at_s, partial(acting.open, told=one)
        while acting.descheduler and at_s < end_s:
            yield at_s, partial(acting.run_pass, told=one)
            at_s += interval_s
        yield end_s, partial(acting.close, told=one)


@dataclass(slots=True)
class _Acting:
    """What is done to the world in the windows."""

    world: World
    prove: Prove
    descheduler: Descheduler | None

    def open(self, at_s: float, told: WindowTold) -> None:
        state = self.world.tell_state(at_s)
        told.used_before = nodes_in_use(state)
        told.most_emptied = self.prove(state)

    def run_pass(self, at_s: float, told: WindowTold) -> None:
        assert self.descheduler  # noqa: S101 - asked for with one only
        state = self.world.tell_state(at_s)
        nodes = {
            f"{pod['metadata']['namespace']}/{pod['metadata']['name']}": str(
                pod["spec"].get("nodeName", "")
            )
            for pod in state["pods"]
        }
        moves = len(told.moves)

        def evict(pod: str) -> str:
            refused = self.world.evict(at_s, pod)
            if not refused:
                told.moves.append((pod, nodes[pod]))
            return refused

        told.kept.update(self.descheduler.run_pass(state, evict))
        if len(told.moves) > moves:
            after = broken_budgets(self.world.tell_state(at_s))
            told.broken |= after - broken_budgets(state)

    def close(self, at_s: float, told: WindowTold) -> None:
        told.used_after = nodes_in_use(self.world.tell_state(at_s))
