"""FIND and HOLD (second paper, Algorithm 3 and section 5.2.2): load on a service, and whether it recovered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from stowage_testbed.hpa.model import LoadWindow, Segment, load_window, steady_state
from stowage_testbed.hpa.settings import RecoverySettings

Outcome = Literal["recovered", "no_degradation", "no_recovery_within_hold"]

CENSORED_S = -1.0
"""Stands for a recovery that did not come while anybody looked."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """What became of the service; ``ttr_s`` from the start of HOLD, 0 without degradation, -1 without recovery."""

    outcome: Outcome
    ttr_s: float


def recovery(windows: Sequence[LoadWindow], streak: int) -> Recovery:
    """Return the first recovery: the SLA kept for ``streak`` windows in a row after one in which it broke."""
    breached, kept = False, 0
    for window in windows:
        if not window.ok:
            breached, kept = True, 0
            continue
        kept += breached
        if kept == streak:
            return Recovery("recovered", window.end_s - windows[0].start_s)
    if breached:
        return Recovery("no_recovery_within_hold", CENSORED_S)
    return Recovery("no_degradation", 0.0)


class LoadTarget(Protocol):
    """A service whose ready replicas can be seen, and whose CPU usage can be set."""

    def now_s(self) -> float:
        """Return seconds since the run began."""

    def ready(self) -> int:
        """Return how many replicas are ready now."""

    def use_cpu(self, cpu_milli: int) -> None:
        """Let every replica use this much CPU from now on."""

    def await_change(self, ready: int, until_s: float) -> None:
        """Return as soon as not ``ready`` replicas are ready, or at ``until_s``."""

    def segments(self, start_s: float, end_s: float) -> Sequence[Segment]:
        """Return the ready replicas over a span that has passed, in order."""


def find(target: LoadTarget, settings: RecoverySettings) -> tuple[LoadWindow, ...]:
    """Raise the load until the SLA breaks, and return every level; HOLD continues with the last one's clients."""
    plan = settings.find
    levels: list[LoadWindow] = []
    start_s = target.now_s()
    for clients in (*range(plan.start, plan.most, plan.step), plan.most):
        levels.append(_drive(target, settings, clients, start_s, plan.level_s))
        if not levels[-1].ok:
            break
        start_s += plan.level_s
    return tuple(levels)


def hold(target: LoadTarget, settings: RecoverySettings, clients: int) -> tuple[LoadWindow, ...]:
    """Hold the load, and return the whole windows that the phase has room for."""
    plan = settings.hold
    start_s = target.now_s()
    windows: list[LoadWindow] = []
    for number in range(int(plan.total_s // plan.window_s)):
        begin_s = start_s + number * plan.window_s
        windows.append(_drive(target, settings, clients, begin_s, plan.window_s))
        if not plan.whole and recovery(windows, plan.streak).outcome == "recovered":
            break
    return tuple(windows)


def _drive(
    target: LoadTarget, settings: RecoverySettings, clients: int, start_s: float, duration_s: float
) -> LoadWindow:
    """Load the target from ``start_s`` on, follow its replicas, and return what the clients saw at the window's end."""
    end_s = start_s + duration_s
    while target.now_s() < end_s:
        ready = target.ready()
        target.use_cpu(steady_state(settings.service, clients, ready).cpu_milli)
        target.await_change(ready, end_s)
    segments = target.segments(start_s, end_s)
    return load_window(settings.service, settings.sla, clients, start_s, segments)
