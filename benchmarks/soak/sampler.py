"""What is sampled during a soak: memory, goroutines, descriptors, objects, heap."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil
from kubernetes import client
from prometheus_client.parser import text_string_to_metric_families
from urllib3.exceptions import HTTPError

from benchmarks.live.meter import fetch, read_metrics, scheduler_url
from benchmarks.soak.slopes import Point
from stowage_testbed.api_client import send
from stowage_testbed.cluster.components import API_SERVER, component_process
from stowage_testbed.errors import StowageError
from stowage_testbed.helm import Release
from stowage_testbed.observe.receipt import ReceiptClock

MIB = 1024**2
EVENTS = "events"
"""They go by themselves, but only after an hour."""

JOIN_TIMEOUT_S = 60.0
PROFILES = 8
"""Heap profiles of the scheduler in a soak; two say by their difference what grew."""

GO_METRICS = {
    "go_goroutines": ("goroutines of the scheduler", 1),
    "go_gc_heap_live_bytes": ("live heap of the scheduler", MIB),
}
"""Name and unit of what Go says of itself; the heap as the last collection left it."""

OBJECTS = ("apiserver_resource_objects", "apiserver_storage_objects")
"""Their number by resource; the second is the first's name until Kubernetes 1.34."""


class Sampler:
    """Samples from entering to leaving, in a thread; each sample is on disk at once.

    Parameters
    ----------
    release, api
        Whose processes, and the API server that counts its objects.
    length_s, interval_s
        Seconds of the soak, and between two samples.
    file
        Where they are written, a JSON object a line; heap profiles stand beside it.
    """

    def __init__(
        self,
        release: Release,
        api: client.ApiClient,
        length_s: float,
        interval_s: float,
        file: Path,
    ) -> None:
        self._release, self._api = release, api
        self._interval_s, self._file = interval_s, file
        self._url = scheduler_url(release)
        self._clock, self._over = ReceiptClock(), threading.Event()
        self._began = self._clock.now()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self._profile_interval_s = length_s / PROFILES
        self._profiles = list[Path]()
        self.points: dict[str, list[Point]] = {}

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
        while not self._over.wait(self._interval_s):
            for name, life, value in self._sample():
                point = Point(self.length_s, life, value)
                self.points.setdefault(name, []).append(point)
                line = json.dumps({"name": name, **asdict(point)})
                with self._file.open("a", encoding="utf-8") as file:
                    file.write(line + "\n")

    def _sample(self) -> Iterator[tuple[str, int, float]]:
        """Yield name, life and value of what can be read; a fault hides the rest."""
        yield from self._of_processes()
        try:
            pid = self._release.process_ids().get("scheduler", 0)
            for sample in read_metrics(self._url):
                if sample.name in GO_METRICS:
                    name, unit = GO_METRICS[sample.name]
                    yield name, pid, sample.value / unit
            self._keep_profile(pid)
            yield "objects in etcd but events", 0, self._objects()
        except (OSError, HTTPError, StowageError):
            return

    def _keep_profile(self, pid: int) -> None:
        if self.length_s < len(self._profiles) * self._profile_interval_s:
            return
        file = self._file.with_name(f"heap-{self.length_s:06.0f}-{pid}.pb.gz")
        file.write_bytes(fetch(f"{self._url}/debug/pprof/heap"))
        self._profiles.append(file)

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

    def _objects(self) -> float:
        answer = send(self._api, "GET", "/metrics", "read metrics", accept="text/plain")
        text = answer.data.decode()
        counts = {
            (sample.name, str(sample.labels)): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name in OBJECTS and sample.labels.get("resource") != EVENTS
        }
        name = next(one for one in OBJECTS if any(key[0] == one for key in counts))
        return sum(
            value for key, value in counts.items() if key[0] == name and value > 0
        )
