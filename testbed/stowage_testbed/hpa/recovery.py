"""FIND and HOLD (second paper, Algorithm 3, section 5.2.2): load on a service, its recovery, and the record of both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, Protocol

from stowage_testbed.hpa.model import LoadWindow, Segment, load_window, steady_state
from stowage_testbed.hpa.settings import RecoverySettings
from stowage_testbed.observe.change import Change, Receipt, Verb
from stowage_testbed.observe.pod import read_pod
from stowage_testbed.observe.source import AUTOSCALERS

Outcome = Literal["recovered", "no_degradation", "no_recovery_within_hold"]

CENSORED_S = -1.0  # Stands for a recovery that did not come while anybody looked


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


@dataclass(frozen=True, slots=True)
class HpaRecord:
    """One recovery run: levels of FIND, windows of HOLD; times are receipt-clock seconds from the start of FIND."""

    settings: RecoverySettings
    find: tuple[LoadWindow, ...]
    hold: tuple[LoadWindow, ...]
    replicas: tuple[Replicas, ...]
    pods: tuple[PodCount, ...]

    @property
    def clients(self) -> int:
        """The load of HOLD."""
        return self.find[-1].clients

    @property
    def hold_start_s(self) -> float:
        """When HOLD began, the time that recovery counts from."""
        return self.hold[0].start_s

    @property
    def recovery(self) -> Recovery:
        """What became of the service."""
        return recovery(self.hold, self.settings.hold.streak)


@dataclass(frozen=True, slots=True)
class PodCount:
    """How many pods there are and how many are ready, from ``at_s`` on."""

    at_s: float
    total: int
    ready: int


@dataclass(frozen=True, slots=True)
class Replicas:
    """What the autoscaler says from ``at_s`` on; usage is the mean that it has read, in percent of the request."""

    at_s: float
    current: int
    desired: int
    cpu_percent: int | None


def pod_counts(changes: Iterable[Change], namespace: str, origin: Receipt) -> tuple[PodCount, ...]:
    """Return the pods of a namespace over time, a count for each change of it."""
    pods: dict[str, bool] = {}
    line: list[PodCount] = []
    for change in changes:
        if change.kind != "Pod" or change.namespace != namespace:
            continue
        if change.verb is Verb.DELETED:
            pods.pop(change.uid, None)
        else:
            pod = read_pod(change.body)
            # One that goes is taken out of the service before it ends.
            pods[change.uid] = pod.ready and pod.live
        at_s = change.receipt.seconds_since(origin)
        count = PodCount(at_s, len(pods), sum(pods.values()))
        if line and line[-1].at_s == at_s:
            # A list shows everything at one moment.
            line.pop()
        if not line or (line[-1].total, line[-1].ready) != (count.total, count.ready):
            line.append(count)
    return tuple(line)


def replicas(changes: Iterable[Change], namespace: str, origin: Receipt) -> tuple[Replicas, ...]:
    """Return the autoscaler's numbers over time, one for each change of its status."""
    line: list[Replicas] = []
    for change in changes:
        if change.kind != AUTOSCALERS.kind or change.namespace != namespace:
            continue
        status = change.body.get("status") or {}
        if change.verb is Verb.DELETED or "currentReplicas" not in status:
            continue
        # Before its first reading the autoscaler reports an empty metric.
        current = ((one.get("resource") or {}).get("current") or {} for one in status.get("currentMetrics") or [])
        usages = (int(one["averageUtilization"]) for one in current if one.get("averageUtilization") is not None)
        at_s = change.receipt.seconds_since(origin)
        line.append(Replicas(at_s, status["currentReplicas"], status["desiredReplicas"], next(usages, None)))
    return tuple(line)


def segments(counts: Sequence[PodCount], start_s: float, end_s: float) -> tuple[Segment, ...]:
    """Return the ready pods over a span, in order; none before the first count."""
    edges = [start_s, *(count.at_s for count in counts if start_s < count.at_s < end_s), end_s]
    return tuple(
        Segment(after - before, next((one.ready for one in reversed(counts) if one.at_s <= before), 0))
        for before, after in pairwise(edges)
        if after > before
    )
