"""What the watches showed of a window: when pods came, had a node, were ready; plans.

All of it on one clock, the receipt of the events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from stowage_testbed.observe.change import Change, Verb
from stowage_testbed.observe.plan import ObservedPlan, read_plan
from stowage_testbed.observe.pod import read_pod
from stowage_testbed.observe.receipt import NS_PER_S


class Window(StrEnum):
    """What goes on in a window.

    ``DEFAULT``: pods come and go under the profile `default`. ``IDLE``: the same under
    the profile `optimizer`. ``PLAN``: the same while large pods arrive and a plan is
    made and carried out.
    """

    DEFAULT = "default"
    IDLE = "idle"
    PLAN = "plan"


@dataclass(frozen=True, slots=True)
class PlanRow:
    """What came of the large pods of one round.

    ``stored_s`` is from the first refused pod to the first plan that was stored after
    it, ``stored_after_last_s`` from the last arrival, ``ready_s`` from there until all
    pods were ready; None if that never was. ``moved`` and ``placed`` are of plans that
    were carried out whole, and ``left`` are open plans, and reservations.
    """

    stored_s: float | None
    stored_after_last_s: float | None
    ready_s: float | None
    unready: int
    moved: int
    placed: int
    plans: int
    given_up: tuple[str, ...]
    left: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One window of one round; see `benchmarks.live.meter.Usage` for what was taken.

    ``tiny`` has of each pod that no plan concerns the seconds from the first one's
    creation to its own, and from there to its node; None if it never got a node.
    """

    number: int
    window: Window
    length_s: float
    tiny: tuple[tuple[float, float | None], ...]
    writes: dict[str, int]
    requests: dict[str, int]
    longest_hold_s: float | None
    held_s: float
    cpu_s: dict[str, float | None]
    peak_bytes: dict[str, int | None]
    plan: PlanRow | None = None


TINY = "tiny"
LARGE = "large"
STORED_PHASES = frozenset({"Proposed", "Executing", "Completed", "Aborted", "Failed"})


@dataclass(slots=True)
class PodMoments:
    """Seconds on the clock; None for what has not come about."""

    created_s: float
    refused_s: float | None = None
    bound_s: float | None = None
    ready_s: float | None = None


class Moments:
    """Reads the changes of one window."""

    def __init__(self, changes: Sequence[Change]) -> None:
        self._pods: dict[str, PodMoments] = {}
        self._plans: dict[str, ObservedPlan] = {}
        self._stored_s: dict[str, float] = {}
        self._reservations: set[str] = set()
        self._ready: dict[str, int] = {}
        self._missing = 0
        self._whole_s: float | None = None
        for change in changes:
            self._take(change, change.receipt.monotonic_ns / NS_PER_S)

    def tiny(self) -> tuple[tuple[float, float | None], ...]:
        """Return when each tiny pod came after the first, and how long it waited."""
        pods = self._of(TINY)
        return tuple(
            (
                round(one.created_s - pods[0].created_s, 4),
                None if one.bound_s is None else round(one.bound_s - one.created_s, 4),
            )
            for one in pods
        )

    def plan_row(self, large: int) -> PlanRow:
        """Return what came of ``large`` pods that arrived in the window."""
        pods = self._of(LARGE)
        last_s = pods[-1].created_s if pods else 0.0
        refused = [one.refused_s for one in pods if one.refused_s is not None]
        ready = [one.ready_s for one in pods if one.ready_s is not None]
        unready = self._missing + large - len(ready)
        stored = sorted(self._stored_s.values())
        later = [one for one in stored if one >= last_s]
        done = [one for one in self._plans.values() if one.phase == "Completed"]
        return PlanRow(
            stored_s=stored[0] - min(refused) if stored and refused else None,
            stored_after_last_s=later[0] - last_s if later else None,
            ready_s=None if unready else max(*ready, self._whole_s or 0.0) - last_s,
            unready=unready,
            moved=sum(one.moves for one in done),
            placed=sum(one.placements for one in done),
            plans=len(self._plans),
            given_up=tuple(f"{one.phase}: {one.message}" for one in self._plans.values() if one.broken),
            left=(*(one.in_words() for one in self._plans.values() if not one.finished), *sorted(self._reservations)),
        )

    def _of(self, prefix: str) -> list[PodMoments]:
        chosen = [one for name, one in self._pods.items() if name.startswith(prefix)]
        return sorted(chosen, key=lambda one: one.created_s)

    def _take(self, change: Change, now_s: float) -> None:
        gone = change.verb is Verb.DELETED
        match change.kind:
            case "Pod" if change.verb in {Verb.ADDED, Verb.MODIFIED}:
                self._take_pod(change, now_s)
            case "ReplicaSet":
                self._take_replica_set(change, now_s)
            case "Reservation" if gone:
                self._reservations.discard(change.name)
            case "Reservation":
                self._reservations.add(change.name)
            case "PackingPlan" if not gone and change.verb is not Verb.LISTED:
                plan = read_plan(change.body)
                self._plans[plan.uid] = plan
                if plan.moves and plan.phase in STORED_PHASES:
                    self._stored_s.setdefault(plan.uid, now_s)

    def _take_pod(self, change: Change, now_s: float) -> None:
        pod = read_pod(change.body)
        if change.verb is Verb.MODIFIED and pod.name not in self._pods:
            return  # it came in an earlier window
        seen = self._pods.setdefault(pod.name, PodMoments(now_s))
        if pod.unschedulable and seen.refused_s is None:
            seen.refused_s = now_s
        if pod.bound and seen.bound_s is None:
            seen.bound_s = now_s
        if pod.ready and seen.ready_s is None:
            seen.ready_s = now_s

    def _take_replica_set(self, change: Change, now_s: float) -> None:
        """Keep count of the steady pods that are away; note when none is any more."""
        wanted = int(change.body["spec"]["replicas"])
        missing = wanted - int(change.body["status"].get("readyReplicas", 0))
        before = self._missing
        self._missing += missing - self._ready.get(change.uid, 0)
        self._ready[change.uid] = missing
        if before and not self._missing:
            self._whole_s = now_s
