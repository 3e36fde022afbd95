"""A recorded stream of arrivals, as values.

A pod is the same pod in every replay by its owner and its template, whatever its name
was where it was recorded and however many rows are replayed.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from stowage_testbed.amounts.resources import CPU, MEMORY, Resources


@dataclass(frozen=True, slots=True)
class Template:
    """What a pod asks for."""

    requests: Resources
    priority: int = 0

    @property
    def template_id(self) -> str:
        """Return six letters and digits that stand for it."""
        asked = "/".join(str(self.requests[name]) for name in (CPU, MEMORY))
        text = f"{asked}/{self.priority}"
        return hashlib.blake2b(text.encode(), digest_size=3).hexdigest()


@dataclass(frozen=True, slots=True)
class TraceRow:
    """One row: equal pods of one owner that came together.

    Attributes
    ----------
    at_s
        Seconds from the trace's start.
    pod
        The single pod's own name within its owner; empty where pods are only counted.
    lifetime_s
        Seconds that each ran; ``None`` for one that did not end.
    """

    at_s: float
    owner: str
    template: Template
    replicas: int = 1
    pod: str = ""
    lifetime_s: float | None = None


@dataclass(frozen=True, slots=True)
class TracedPod:
    """One pod of a trace, under the name that it has in every replay."""

    at_s: float
    name: str
    owner: str
    template: Template
    lifetime_s: float | None = None


def list_pods(rows: Sequence[TraceRow]) -> Iterator[TracedPod]:
    """Yield the pods in the order in which they came."""
    seen: Counter[tuple[str, str]] = Counter()
    for row in sorted(rows, key=lambda row: row.at_s):
        for _ in range(row.replicas):
            kin = (row.owner, row.template.template_id)
            ordinal = row.pod or str(seen[kin])
            seen[kin] += 1
            name = f"{row.owner}-{row.template.template_id}-{ordinal}"
            yield TracedPod(row.at_s, name, row.owner, row.template, row.lifetime_s)


def make_replay(rows: Sequence[TraceRow], *, speed: float, limit: int | None) -> tuple[TracedPod, ...]:
    """Return the first ``limit`` pods, with all times divided by ``speed``."""
    pods = list(list_pods(rows))[:limit]
    return tuple(
        replace(pod, at_s=pod.at_s / speed, lifetime_s=None if pod.lifetime_s is None else pod.lifetime_s / speed)
        for pod in pods
    )
