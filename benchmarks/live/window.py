"""One window: what scheduler and optimiser took, and what the watches showed of pods and plans.

All moments are on one clock, the receipt of the events.
"""

import ssl
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from benchmarks.live.cluster import LIVE
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.ports import LOOPBACK
from stowage_testbed.helm import Release
from stowage_testbed.metrics.footprint import Footprint, FootprintMeter
from stowage_testbed.observe.audit import find_audit_end, read_audit_entries
from stowage_testbed.observe.change import NS_PER_S, Change, Verb
from stowage_testbed.observe.plan import ObservedPlan, read_plan
from stowage_testbed.observe.timeline import read_pod_timelines

WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
REQUESTS = "rest_client_requests_total"
HOLDS = "stowage_priority_optimizer_hold_seconds_bucket"
HELD = "stowage_priority_optimizer_held_seconds_total"

METRICS_VALUES = {
    "scheduler": {"extraArgs": ["--authorization-always-allow-paths=/metrics,/livez,/readyz,/debug/pprof/*"]}
}
"""Values of a release whose metrics and profiles anybody on this machine may read."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What was taken between the two ends of a window, by container.

    ``writes`` are those by verb and resource, less those for the pods that no plan
    concerns; the audit log has no events and no leases. ``requests`` are all of them.
    The longest hold is the upper end of the histogram's last bucket that is not empty.
    """

    footprints: dict[str, Footprint] = field(default_factory=dict)
    writes: dict[str, int] = field(default_factory=dict)
    requests: dict[str, int] = field(default_factory=dict)
    longest_hold_s: float | None = None
    held_s: float = 0.0


class Meter:
    """Measures from its making to `read`."""

    def __init__(self, cluster: Cluster, release: Release) -> None:
        self._cluster = cluster
        self._url = scheduler_url(release)
        self._user = f"system:serviceaccount:{release.namespace}:{release.name}"
        self._audit_start = find_audit_end(cluster.audit_log)
        self._before = _counters(self._url)
        self._meters = {name: FootprintMeter([pid]) for name, pid in release.process_ids().items()}

    def read(self) -> Usage:
        """Return what was taken until now."""
        footprints = {name: meter.read() for name, meter in self._meters.items()}
        now, holds = _counters(self._url), Counter[str]()
        held_s = 0.0
        requests: Counter[str] = Counter()
        for (name, label), value in now.items():
            grown = value - self._before.get((name, label), 0.0)
            if name == REQUESTS:
                requests[label] += int(grown)
            elif name == HELD:
                held_s = grown
            elif grown:
                holds[label] = int(grown)
        return Usage(footprints, self._writes(), +requests, _longest(holds), held_s)

    def _writes(self) -> Counter[str]:
        entries = read_audit_entries(self._cluster.audit_log, self._audit_start)
        return Counter(
            f"{entry.verb} {entry.resource}{'/' if entry.subresource else ''}{entry.subresource}"
            for entry in entries
            if entry.user == self._user
            and entry.verb in WRITES
            and not (entry.namespace == LIVE and entry.name.startswith("tiny"))
        )


def scheduler_url(release: Release) -> str:
    """Return where the scheduler serves metrics and profiles; the port is its pod's."""
    arguments = release.pods()[0].spec.containers[0].args
    (port,) = (one.split("=")[1] for one in arguments if "--secure-port=" in one)
    return f"https://{LOOPBACK}:{port}"


def read_metrics(base: str) -> Iterator[Sample]:
    """Yield every sample that a process serves below ``base``, if it answers."""
    trust = ssl.create_default_context()
    # The port's certificate is the scheduler's own, and loopback needs none.
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    url = f"{base}/metrics"
    with urllib.request.urlopen(url, context=trust, timeout=30) as answer:  # noqa: S310
        text = answer.read().decode()
    for family in text_string_to_metric_families(text):
        yield from family.samples


def _counters(url: str) -> dict[tuple[str, str], float]:
    """Return the metrics that are read, by name and the label that counts, or ""."""
    found: defaultdict[tuple[str, str], float] = defaultdict(float)
    for sample in read_metrics(url):
        if sample.name in {REQUESTS, HOLDS, HELD}:
            label = sample.labels.get("method") or sample.labels.get("le", "")
            found[sample.name, label] += sample.value
    return dict(found)


def _longest(grown: Mapping[str, int]) -> float | None:
    """Return the least bound that all observations of a cumulative histogram keep."""
    total = max(grown.values(), default=0)
    bounds = [float(bound) for bound, value in grown.items() if value == total]
    return min(bounds) if total else None


class Window(StrEnum):
    """What goes on in a window.

    ``DEFAULT``: pods come and go under the profile `default`. ``IDLE``: the same under the profile `optimizer`.
    ``PLAN``: the same while large pods arrive and a plan is made and carried out.
    """

    DEFAULT = "default"
    IDLE = "idle"
    PLAN = "plan"


@dataclass(frozen=True, slots=True)
class PlanRow:
    """What came of the large pods of one round.

    ``stored_s`` is from the first refused pod to the first plan that was stored after it, ``stored_after_last_s`` from
    the last arrival, ``ready_s`` from there until all pods were ready; None if that never was. ``moved`` and ``placed``
    are of plans that were carried out whole, and ``left`` are open plans, and reservations.
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
