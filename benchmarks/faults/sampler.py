"""What a soak samples: memory, goroutines, descriptors, and objects in etcd."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Self

import psutil
from kubernetes import client
from prometheus_client.parser import text_string_to_metric_families
from urllib3.exceptions import HTTPError

from benchmarks.faults.slopes import Point
from benchmarks.live.meter import read_metrics, scheduler_url
from stowage_testbed.api.client import send
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.components import API_SERVER, component_process
from stowage_testbed.helm import Release
from stowage_testbed.observe.receipt import ReceiptClock

MIB = 1024**2
EVENTS = "events"
"""They go by themselves, but only after an hour."""

INTERVAL_S = 10.0
JOIN_TIMEOUT_S = 60.0
GO_METRICS = {
    "go_goroutines": ("goroutines of the scheduler", 1),
    "go_gc_heap_live_bytes": ("live heap of the scheduler", MIB),
}
"""Name and unit of what Go says of itself; the heap as the last collection left it."""

OBJECTS = ("apiserver_resource_objects", "apiserver_storage_objects")
"""Their number by resource; the second is the first's name until Kubernetes 1.34."""

ALL_OBJECTS = "objects in etcd but events"
OBJECTS_OF = "objects in etcd: "
"""And the resource."""


class Sampler:
    """Samples from entering to leaving, in a thread."""

    def __init__(self, release: Callable[[], Release], api: client.ApiClient) -> None:
        self._serving, self._api = release, api
        self._clock, self._over = ReceiptClock(), threading.Event()
        self._began = self._clock.now()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self.points: defaultdict[str, list[Point]] = defaultdict(list)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join(JOIN_TIMEOUT_S)

    @property
    def length_s(self) -> float:
        """Return how long it has been sampling."""
        return self._clock.now().seconds_since(self._began)

    def _run(self) -> None:
        while not self._over.wait(INTERVAL_S):
            self._release = self._serving()
            for name, life, value in self._sample():
                self.points[name].append(Point(self.length_s, life, value))

    def _sample(self) -> Iterator[tuple[str, int, float]]:
        """Yield name, life and value of what can be read; a fault hides the rest."""
        yield from self._of_processes()
        try:
            pid = self._release.process_ids().get("scheduler", 0)
            for sample in read_metrics(scheduler_url(self._release)):
                if sample.name in GO_METRICS:
                    name, unit = GO_METRICS[sample.name]
                    yield name, pid, sample.value / unit
            objects = self._objects()
            yield ALL_OBJECTS, 0, objects.total()
            for resource, count in objects.items():
                yield f"{OBJECTS_OF}{resource}", 0, count
        except (OSError, HTTPError, StowageError):
            return

    def _of_processes(self) -> Iterator[tuple[str, int, float]]:
        server = component_process(self._release.cluster.workdir, API_SERVER)
        pids = {**self._pids(), "testbed": psutil.Process().pid}
        if server is not None:
            pids["API server"] = server.pid
        for name, pid in pids.items():
            try:
                process = psutil.Process(pid)
                yield f"memory of the {name}", pid, process.memory_info().rss / MIB
                yield f"descriptors of the {name}", pid, process.num_fds()
            except psutil.Error:
                continue

    def _pids(self) -> dict[str, int]:
        try:
            return self._release.process_ids()
        except (HTTPError, OSError, client.ApiException):
            return {}

    def _objects(self) -> Counter[str]:
        """Return how many objects there are of each resource but events."""
        answer = send(self._api, "GET", "/metrics", "read metrics", accept="text/plain")
        text = answer.data.decode()
        return objects_by_resource(text)


def objects_by_resource(metrics: str) -> Counter[str]:
    """Return how many objects an API server's metrics tell of each resource but events.

    A resource that could not be counted has -1 of them.
    """
    counts: dict[str, Counter[str]] = {name: Counter() for name in OBJECTS}
    for family in text_string_to_metric_families(metrics):
        for sample in family.samples:
            if sample.name in OBJECTS and sample.value >= 0:
                labels = sample.labels
                group, resource = labels.get("group", ""), labels.get("resource", "")
                name = ".".join(filter(None, (resource, group)))
                if resource != EVENTS:
                    counts[sample.name][name] += int(sample.value)
    return next((found for found in counts.values() if found), Counter())
