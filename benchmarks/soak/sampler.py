"""What is sampled during a soak: memory, goroutines, descriptors, objects."""

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

from benchmarks.live.meter import metrics_url, read_metrics
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
GOROUTINES = "go_goroutines"
OBJECTS = ("apiserver_resource_objects", "apiserver_storage_objects")
"""Their number by resource; the second is the first's name until Kubernetes 1.34."""


class Sampler:
    """Samples from entering to leaving, in a thread; each sample is on disk at once.

    Parameters
    ----------
    release, api
        Whose processes, and the API server that counts its objects.
    interval_s
        Seconds between two samples.
    file
        Where they are written, a JSON object a line.
    """

    def __init__(
        self, release: Release, api: client.ApiClient, interval_s: float, file: Path
    ) -> None:
        self._release, self._api = release, api
        self._interval_s, self._file = interval_s, file
        self._url = metrics_url(release)
        self._clock, self._over = ReceiptClock(), threading.Event()
        self._began = self._clock.now()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
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
                if sample.name == GOROUTINES:
                    yield "goroutines of the scheduler", pid, sample.value
            yield "objects in etcd but events", 0, self._objects()
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
