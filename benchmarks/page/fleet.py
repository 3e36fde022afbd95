"""A generated cluster whose pods come, go and wait, as watches report it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from stowage_testbed.errors import StowageError
from stowage_testbed.observe.change import Change, Verb
from stowage_testbed.observe.receipt import NS_PER_S, Receipt
from stowage_testbed.observe.source import Source

ZONES = ("zone-a", "zone-b", "zone-c")
PRIORITIES = (0, 0, 0, 10, 100, 1000)
SIZES_MILLI = (250, 500, 1000, 2000, 4000)
CPU_MILLI = 32_000
WAITING = 0.02
"""Share of the pods that wait at any time."""
USED = 0.97
"""Share of the nodes that pods are put on."""
MOST_LOOKS = 50
"""Nodes that a pod tries before one gets more than it has."""

SAID = (
    "0/{nodes} nodes are available: {few} Insufficient cpu, {many} node(s) had "
    "untolerated taint(s). preemption: 0/{nodes} nodes are available: {nodes} No "
    "preemption victims found for incoming pod."
)


@dataclass(frozen=True, slots=True)
class FleetSize:
    """How large it is, and how restless.

    Attributes
    ----------
    past
        Changes that were seen before the page is opened.
    rate_hz
        Changes a second from then on.
    """

    nodes: int = 5_000
    pods: int = 50_000
    workloads: int = 200
    past: int = 60_000
    rate_hz: float = 100.0


class Fleet:
    """Watches of a cluster that there is not.

    Parameters
    ----------
    size
        How large it is.
    seed
        All is drawn from it.
    """

    def __init__(self, size: FleetSize, seed: int = 1) -> None:
        self._size = size
        self._draw = np.random.default_rng(seed)
        self._where: dict[int, int] = {}
        self._waiting: list[int] = []
        self._load_milli = [0] * size.nodes
        self._most_waiting = max(1, int(size.pods * WAITING))
        self._made = 0
        self._began_ns = time.time_ns()
        self._journal = deque(self._listed())
        self._told = 0
        self.failure: StowageError | None = None

    @contextmanager
    def opened(self) -> Iterator[Fleet]:
        """Yield itself: it never breaks off."""
        yield self

    def watch(self, source: Source) -> None:
        """Have no plans."""

    def free_disk(self) -> None:
        """Keep nothing on disk."""

    def take_journal(self) -> list[Change]:
        """Return the list and the past at first, and then what is due by the clock."""
        if self._journal:
            journal, self._journal = list(self._journal), deque()
            return journal
        elapsed_s = (time.time_ns() - self._began_ns) / NS_PER_S
        due = int(elapsed_s * self._size.rate_hz) - self._told
        self._told += max(due, 0)
        now_ns = time.time_ns()
        found: list[Change] = []
        while len(found) < due:
            found += self._change(now_ns)
        return found

    def _listed(self) -> Iterator[Change]:
        size = self._size
        past_ns = int(size.past / max(size.rate_hz, 1) * NS_PER_S)
        first_ns = self._began_ns - past_ns
        for number in range(size.nodes):
            yield _change("Node", Verb.LISTED, first_ns, _node(number))
        for _ in range(size.pods):
            yield self._new_pod(Verb.LISTED, first_ns)
        for number in range(size.past):
            at_ns = first_ns + number * past_ns // size.past
            yield from self._change(at_ns)

    def _new_pod(self, verb: Verb, at_ns: int) -> Change:
        pod, self._made = self._made, self._made + 1
        self._where[pod] = -1
        if verb is Verb.LISTED and len(self._waiting) >= self._most_waiting:
            self._place(pod)
        else:
            self._waiting.append(pod)
        return _change("Pod", verb, at_ns, self._pod(pod))

    def _change(self, at_ns: int) -> Iterator[Change]:
        """Yield what comes next: a waiting pod gets a node, or another gives way to it.

        How many there are, and how many wait, stays about the same.
        """
        if len(self._waiting) >= self._most_waiting:
            pod = self._waiting.pop(int(self._draw.integers(len(self._waiting))))
            self._place(pod)
            yield _change("Pod", Verb.MODIFIED, at_ns, self._pod(pod))
            return
        pods = [
            self._made - 1 - int(self._draw.integers(self._made)) for _ in range(99)
        ]
        pod = next(one for one in pods if self._where.get(one, -1) >= 0)
        body = self._pod(pod)
        node = self._where.pop(pod)
        self._load_milli[node] -= _cpu_milli(pod % self._size.workloads)
        yield _change("Pod", Verb.DELETED, at_ns, body)
        yield self._new_pod(Verb.ADDED, at_ns)

    def _place(self, pod: int) -> None:
        """Put a pod on a node with room; the last nodes stay empty."""
        cpu_milli = _cpu_milli(pod % self._size.workloads)
        for share in self._draw.random(MOST_LOOKS):
            node = int(share * self._size.nodes * USED)
            if self._load_milli[node] + cpu_milli <= CPU_MILLI:
                break
        self._where[pod] = node
        self._load_milli[node] += cpu_milli

    def _pod(self, pod: int) -> dict[str, Any]:
        kind = pod % self._size.workloads
        node = self._where.get(pod, -1)
        said = SAID.format(
            nodes=self._size.nodes, few=self._size.nodes - kind, many=kind
        )
        waits = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": said,
        }
        return {
            "metadata": {
                "uid": f"{pod:032x}",
                "namespace": f"team-{kind % 12}",
                "name": f"service-{kind}-7c9d8b6f5-{pod:06x}",
                "labels": {"pod-template-hash": "7c9d8b6f5"},
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "ownerReferences": [
                    {
                        "kind": "ReplicaSet",
                        "name": f"service-{kind}-7c9d8b6f5",
                        "controller": True,
                    }
                ],
            },
            "spec": {
                "nodeName": f"node-{node}" if node >= 0 else "",
                "priority": PRIORITIES[kind % len(PRIORITIES)],
                "containers": [{"resources": {"requests": _requests(kind)}}],
            },
            "status": {
                "phase": "Running" if node >= 0 else "Pending",
                "conditions": [] if node >= 0 else [waits],
            },
        }


def _requests(kind: int) -> dict[str, str]:
    return {"cpu": f"{_cpu_milli(kind)}m", "memory": f"{1 + kind % 5}Gi"}


def _cpu_milli(kind: int) -> int:
    return SIZES_MILLI[kind % len(SIZES_MILLI)]


def _node(number: int) -> dict[str, Any]:
    return {
        "metadata": {
            "uid": f"node-{number}",
            "name": f"node-{number}",
            "labels": {"topology.kubernetes.io/zone": ZONES[number % len(ZONES)]},
        },
        "spec": {"unschedulable": number % 97 == 0},
        "status": {
            "allocatable": {"cpu": f"{CPU_MILLI}m", "memory": "128Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _change(kind: str, verb: Verb, at_ns: int, body: dict[str, Any]) -> Change:
    return Change(kind, verb, Receipt(at_ns, at_ns), body)
