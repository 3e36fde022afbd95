"""What the watches showed of a window: when pods came, had a node, were ready; plans.

All of it on one clock, the receipt of the events.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from benchmarks.live.cluster import LIVE
from benchmarks.live.meter import Usage
from stowage_testbed.observe.change import Change, Verb
from stowage_testbed.observe.plan import ObservedPlan, read_plan
from stowage_testbed.observe.receipt import NS_PER_S
from stowage_testbed.observe.timeline import read_pod_timelines


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
    """One window of one round, and what was taken in it.

    ``tiny`` has of each pod that no plan concerns the seconds from the first one's
    creation to its own, and from there to its node; None if it never got a node.
    """

    number: int
    window: Window
    length_s: float
    tiny: tuple[tuple[float, float | None], ...]
    usage: Usage
    plan: PlanRow | None = None


TINY = "tiny"
LARGE = "large"
STORED_PHASES = frozenset({"Proposed", "Executing", "Completed", "Aborted", "Failed"})


class Moments:
    """Reads the changes of one window; times are seconds on the clock."""

    def __init__(self, changes: Sequence[Change]) -> None:
        lines = [(one.created, one) for one in read_pod_timelines(changes, LIVE) if one.created is not None]
        self._pods = sorted(lines, key=lambda pair: pair[0])
        self._plans: dict[str, ObservedPlan] = {}
        self._stored_s: dict[str, float] = {}
        self._reservations: set[str] = set()
        self._away: Counter[str] = Counter()
        self._whole_s = 0.0
        for change in changes:
            self._take(change, change.receipt.monotonic_ns / NS_PER_S)

    def tiny(self) -> tuple[tuple[float, float | None], ...]:
        """Return when each tiny pod came after the first, and how long it waited."""
        tiny = [pair for pair in self._pods if pair[1].name.startswith(TINY)]
        return tuple(
            (
                round(created.seconds_since(tiny[0][0]), 4),
                None if one.created_to_bound_s is None else round(one.created_to_bound_s, 4),
            )
            for created, one in tiny
        )

    def plan_row(self, large: int) -> PlanRow:
        """Return what came of ``large`` pods that arrived in the window."""
        pods = [one for _, one in self._pods if one.name.startswith(LARGE)]
        arrived, refused, ready = (
            [at.monotonic_ns / NS_PER_S for one in pods if (at := getattr(one, moment)) is not None]
            for moment in ("created", "refused", "ready")
        )
        last_s = max(arrived, default=0.0)
        unready = self._away.total() + large - len(ready)
        stored = sorted(self._stored_s.values())
        later = [one for one in stored if one >= last_s]
        plans = self._plans.values()
        done = [one for one in plans if one.phase == "Completed"]
        return PlanRow(
            stored_s=stored[0] - min(refused) if stored and refused else None,
            stored_after_last_s=later[0] - last_s if later else None,
            ready_s=None if unready else max(*ready, self._whole_s) - last_s,
            unready=unready,
            moved=sum(one.moves for one in done),
            placed=sum(one.placements for one in done),
            plans=len(plans),
            given_up=tuple(f"{one.phase}: {one.message}" for one in plans if one.broken),
            left=(*(one.in_words() for one in plans if not one.finished), *sorted(self._reservations)),
        )

    def _take(self, change: Change, now_s: float) -> None:
        gone = change.verb is Verb.DELETED
        match change.kind:
            case "ReplicaSet":
                before, body = self._away.total(), change.body
                self._away[change.uid] = int(body["spec"]["replicas"]) - int(body["status"].get("readyReplicas", 0))
                if before and not self._away.total():
                    self._whole_s = now_s
            case "Reservation":
                (self._reservations.discard if gone else self._reservations.add)(change.name)
            case "PackingPlan" if not gone and change.verb is not Verb.LISTED:
                plan = read_plan(change.body)
                self._plans[plan.uid] = plan
                if plan.moves and plan.phase in STORED_PHASES:
                    self._stored_s.setdefault(plan.uid, now_s)
