"""A day with one arm: what acts in the windows, and what came of it."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

from stowage_testbed.optimizer_service.service import running_service
from stowage_testbed.policyday.arms import Arm, configured
from stowage_testbed.policyday.autoscaler import EVERY_S, Autoscaler
from stowage_testbed.policyday.descheduler import THRESHOLDS, Descheduler
from stowage_testbed.policyday.policy import Policy
from stowage_testbed.policyday.state import State, nodes_in_use
from stowage_testbed.policyday.windows import Window, list_windows
from stowage_testbed.simulate.trace_events import make_events
from stowage_testbed.simulate.virtual_time import Event, PassedTime
from stowage_testbed.simulate.world import World
from stowage_testbed.trace.reading import Trace

INTERVAL_S = 300.0
"""How often the descheduler looks at the cluster, by its own default."""

KILLED_AFTER_S = (0.01, 5.0, 60.0, 600.0)
"""Since a window opened: before its plan is made, while pods move, and later on."""

EVICTED = "evicted"
"""How the life of a pod ends that was moved."""

Prove = Callable[[State], int | None]
"""Returns how many nodes of a state could be emptied at most; None if not known."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How arms go through a day.

    Attributes
    ----------
    profile
        The KubeSchedulerConfiguration of the world's scheduler, without the optimiser.
    interval_s
        Between two passes of the descheduler within a window.
    thresholds
        The descheduler's, in percent by resource.
    autoscales
        Whether empty nodes go, and come back when pods wait.
    """

    profile: Path
    interval_s: float = INTERVAL_S
    thresholds: Mapping[str, float] = field(default_factory=lambda: dict(THRESHOLDS))
    autoscales: bool = True
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
    left
        Of each pod that was moved, the node that it left.
    gone
        Nodes that the autoscaler took away, empty as they were, while it was open.
    kept
        Why pods or nodes were left as they are, as often as that was said.
    runs
        How often the policy says that it has opened.
    """

    window: Window
    used_before: frozenset[str] = frozenset()
    used_after: frozenset[str] = frozenset()
    most_emptied: int | None = None
    left: list[str] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    kept: Counter[str] = field(default_factory=Counter)
    runs: int = 0

    @property
    def emptied(self) -> frozenset[str]:
        """The nodes that were emptied by moving pods, and went or still were empty.

        One that went, and came back as more pods came than the others have room for,
        was emptied all the same: what could be emptied at most is proved without them.
        """
        return (self.used_before & set(self.left)) - (self.used_after - self.gone)

    @property
    def returned(self) -> frozenset[str]:
        """Those of them that came back before the window closed."""
        return self.emptied & self.used_after


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of a day with one arm."""

    arm: Arm
    passed: PassedTime
    windows: tuple[WindowTold, ...]


def windows_of(day: Trace, policy: Policy) -> tuple[Window, ...]:
    """Return when the windows are open on a day, as `list_windows` says and raises."""
    length_s = day.lines[-1].t if day.lines else 0.0
    return list_windows(policy.openings, _began(day), length_s)


def try_arm(arm: Arm, day: Trace, policy: Policy, settings: Settings, prove: Prove = lambda _: None) -> Trial:
    """Have a day pass with an arm.

    Raises
    ------
    ToolMissingError
        A tool is not installed.
    StowageError
        The scheduler, the descheduler or the optimiser failed.
    """
    with ExitStack() as stack:
        arguments: dict[str, Any] = {}
        if arm.plans:
            service = stack.enter_context(running_service())
            arguments = {
                "socket": str(service.socket),
                # Nothing but the policy has plans made, the same ones every time.
                "trigger": "Manual",
                "deterministic": True,
            }
        config = stack.enter_context(configured(arm, settings.profile, arguments))
        world = stack.enter_context(World(config, minor=settings.minor))
        descheduler = stack.enter_context(Descheduler(settings.thresholds)) if arm.deschedules else None
        told = [WindowTold(window) for window in windows_of(day, policy)]
        scaler = Autoscaler(day) if settings.autoscales else None
        acting = _Acting(world, prove, descheduler, scaler)
        _pass_day(
            world,
            (*_beginning(day, policy, plans=arm.plans), *make_events(day)),
            _agenda(told, acting, settings.interval_s, day.lines[-1].t, arm),
        )
        passed = world.end()
        _tell_of_plans(told, world, _began(day))
        for life in passed.lives:
            if life.how == EVICTED and life.ended_s is not None:
                for one in told:
                    if one.window.start_s <= life.ended_s <= one.window.end_s:
                        one.left.append(life.node)
        return Trial(arm, passed, tuple(told))


def _began(day: Trace) -> datetime:
    return datetime.fromisoformat(day.header.began)


def _beginning(day: Trace, policy: Policy, *, plans: bool) -> Iterator[Event]:
    """Yield what comes before the day; all arms have the same clock."""
    settings = {"began": day.header.began, "coolDown": policy.cool_down_s}
    yield {"at": 0.0, "settings": settings}
    if plans:
        yield {"at": 0.0, "policy": policy.automatic()}


_Act = Callable[[float], None]
_Due = tuple[float, _Act]


def _pass_day(world: World, events: tuple[Event, ...], agenda: Iterator[_Due]) -> None:
    due = next(agenda, None)
    for event in events:
        # What happens at that very time comes first.
        while due is not None and due[0] < event["at"]:
            at_s, act = due
            act(at_s)
            due = next(agenda, None)
        world.happen(event)
    for at_s, act in (*filter(None, (due,)), *agenda):
        act(at_s)


def _agenda(told: list[WindowTold], acting: _Acting, interval_s: float, length_s: float, arm: Arm) -> Iterator[_Due]:
    """Yield what is to be done when, in the order of the times."""
    return heapq.merge(
        _windows_agenda(told, acting, interval_s),
        _killing_agenda(told, acting) if arm.is_killed else (),
        _scaling_agenda(acting, length_s),
        key=itemgetter(0),
    )


def _windows_agenda(told: list[WindowTold], acting: _Acting, interval_s: float) -> Iterator[_Due]:
    for one in told:
        at_s, end_s = one.window.start_s, one.window.end_s
        yield at_s, partial(acting.open, told=one)
        while acting.descheduler and at_s < end_s:
            yield at_s, partial(acting.run_pass, told=one)
            at_s += interval_s
        yield end_s, partial(acting.close, told=one)


def _killing_agenda(told: list[WindowTold], acting: _Acting) -> Iterator[_Due]:
    for one in told:
        for after_s in KILLED_AFTER_S:
            at_s = one.window.start_s + after_s
            if at_s < one.window.end_s:
                yield at_s, acting.kill


def _scaling_agenda(acting: _Acting, length_s: float) -> Iterator[_Due]:
    if acting.scaler:
        for turn in range(1, int(length_s // EVERY_S) + 1):
            yield turn * EVERY_S, acting.scale


@dataclass(slots=True)
class _Acting:
    """What is done to the world."""

    world: World
    prove: Prove
    descheduler: Descheduler | None
    scaler: Autoscaler | None
    opened: WindowTold | None = None

    def open(self, at_s: float, told: WindowTold) -> None:
        self.opened = told
        state = self.world.tell_state(at_s)
        told.used_before = nodes_in_use(state)
        told.most_emptied = self.prove(state)

    def run_pass(self, at_s: float, told: WindowTold) -> None:
        assert self.descheduler  # noqa: S101 - asked for with one only
        state = self.world.tell_state(at_s)
        evict = partial(self.world.evict, at_s)
        told.kept.update(self.descheduler.run_pass(state, evict))

    def close(self, at_s: float, told: WindowTold) -> None:
        self.opened = None
        told.used_after = nodes_in_use(self.world.tell_state(at_s))

    def kill(self, at_s: float) -> None:
        self.world.happen({"at": at_s, "restart": True})

    def scale(self, at_s: float) -> None:
        assert self.scaler  # noqa: S101 - asked for with one only
        for event in self.scaler.look(at_s, self.world.tell_state(at_s)):
            if self.opened and "nodeGone" in event:
                self.opened.gone.add(event["nodeGone"])
            self.world.happen(event)


def _tell_of_plans(told: list[WindowTold], world: World, began: datetime) -> None:
    """Add what the policy's own status says of its windows."""
    for said in world.remarks("window"):
        start_s = (datetime.fromisoformat(said["start"]) - began).total_seconds()
        for one in told:
            if one.window.start_s == start_s:
                one.runs += said["phase"] != "Missed"
                for refused in said.get("refused") or ():
                    one.kept[refused["reason"]] += refused["count"]
