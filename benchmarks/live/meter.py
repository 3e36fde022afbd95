"""What scheduler and optimiser took in a window: processor, memory, requests."""

from __future__ import annotations

import ssl
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from benchmarks.live.cluster import LIVE
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.ports import LOOPBACK
from stowage_testbed.helm import Release
from stowage_testbed.observe.audit import find_audit_end, read_audit_entries
from stowage_testbed.recording.footprint import Footprint, FootprintMeter

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
