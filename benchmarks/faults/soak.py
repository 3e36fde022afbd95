"""The long form of the faults: one after the other for hours, and what grows meanwhile.

Processes are killed in the first part of the time only. In the rest they live on, so
that what grows in them can be seen.
"""

import random
import secrets
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from pathlib import Path
from statistics import fmean, median
from typing import Self

import psutil
from kubernetes import client
from prometheus_client.parser import text_string_to_metric_families
from scipy import stats
from urllib3.exceptions import HTTPError

from benchmarks.engine import Say
from benchmarks.faults.attempt import Attempt
from benchmarks.faults.cluster import KINDS, open_fault_cluster
from benchmarks.faults.context import load_faults
from benchmarks.faults.session import must_have_passed, on_fresh_nodes, reliability_figures
from benchmarks.faults.trial import Trial
from benchmarks.live.window import METRICS_VALUES, read_metrics, scheduler_url
from stowage_testbed.api.client import send
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.components import API_SERVER, component_process
from stowage_testbed.helm import Release
from stowage_testbed.observe.change import ReceiptClock
from stowage_testbed.reproduce.rebuilding import write_figures
from stowage_testbed.text.figure import Figure

CONFIDENCE = 0.95
PART_S = 60.0
"""One is long enough for many collections of garbage."""

WARM_UP_S = 900.0
"""What a life is left to fill its caches and pools: the optimiser's memory climbs for a
quarter of an hour after a start, and stays flat then (300 nodes, two cores)."""

LEAST_FREEDOM = 1.0
S_AN_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Point:
    """A value at a second, of a life: a process's id, or 0 for what has one life."""

    at_s: float
    life: int
    value: float


@dataclass(frozen=True, slots=True)
class Slope:
    """Growth an hour with its interval, over so many parts of the time."""

    per_hour: float
    low: float
    high: float
    parts: int

    @property
    def is_none(self) -> bool:
        """Whether it cannot be distinguished from no growth."""
        return self.low <= 0.0 <= self.high


def slope_of(pieces: Iterable[Iterable[Point]], warm_up_s: float = WARM_UP_S) -> Slope | None:
    """Return the common slope of all lives; None where there is too little to tell.

    Points are of pieces of the soak, with lives of their own.

    Notes
    -----
    What is left beside the slope is not independent from minute to minute: an allocator
    keeps what it has once taken. The interval is that of as many independent values as
    its autocorrelation leaves (Santer et al. 2000, section 4).
    """
    grouped: defaultdict[tuple[int, int], list[Point]] = defaultdict(list)
    for number, points in enumerate(pieces):
        for point in points:
            grouped[number, point.life].append(point)
    lives = [centred for life in grouped.values() if (centred := _centred(life, warm_up_s))]
    pairs = [pair for life in lives for pair in life]
    spread = sum(x * x for x, _ in pairs)
    if not spread:
        return None
    slope = sum(x * y for x, y in pairs) / spread
    rests = [[y - slope * x for x, y in life] for life in lives]
    if len(pairs) - len(lives) - 1 < LEAST_FREEDOM:
        return None
    freedom = max(_independent(rests) - len(lives) - 1, LEAST_FREEDOM)
    margin = float(stats.t.ppf((1 + CONFIDENCE) / 2, freedom))
    margin *= sqrt(sum(e * e for rest in rests for e in rest) / freedom / spread)
    hourly = slope * S_AN_HOUR
    low, high = (slope - margin) * S_AN_HOUR, (slope + margin) * S_AN_HOUR
    return Slope(hourly, low, high, len(pairs))


def _centred(life: Sequence[Point], warm_up_s: float) -> list[tuple[float, float]]:
    """Return time and value of a warm life's parts, less their means."""
    born_s = min(point.at_s for point in life)
    parts: defaultdict[int, list[Point]] = defaultdict(list)
    for point in life:
        if point.at_s - born_s >= warm_up_s:
            parts[int(point.at_s / PART_S)].append(point)
    pairs = [(fmean(p.at_s for p in part), median(p.value for p in part)) for _, part in sorted(parts.items())]
    if not pairs:
        return []
    middle, level = fmean(x for x, _ in pairs), fmean(y for _, y in pairs)
    return [(x - middle, y - level) for x, y in pairs]


def _independent(rests: Sequence[Sequence[float]]) -> float:
    """Return how many independent values are worth as much as all of these."""
    count = sum(map(len, rests))
    squares = sum(e * e for rest in rests for e in rest)
    beside = sum(a * b for rest in rests for a, b in pairwise(rest))
    correlation = max(0.0, beside / squares) if squares else 0.0
    return count * (1 - correlation) / (1 + correlation)


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

OBJECTS = "apiserver_resource_objects"
"""Their number by resource."""

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

    def __exit__(self, *_: object) -> None:
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
        pids = {"testbed": psutil.Process().pid}
        with suppress(HTTPError, OSError, client.ApiException):
            pids |= self._release.process_ids()
        server = component_process(self._release.cluster.workdir, API_SERVER)
        if server is not None:
            pids["API server"] = server.pid
        for name, pid in pids.items():
            with suppress(psutil.Error):
                process = psutil.Process(pid)
                yield f"memory of the {name}", pid, process.memory_info().rss / MIB
                yield f"descriptors of the {name}", pid, process.num_fds()

    def _objects(self) -> Counter[str]:
        """Return how many objects there are of each resource but events.

        The API server tells -1 of a resource that could not be counted.
        """
        answer = send(self._api, "GET", "/metrics", "read metrics", accept="text/plain")
        counts: Counter[str] = Counter()
        for family in text_string_to_metric_families(answer.data.decode()):
            for sample in family.samples:
                if sample.name == OBJECTS and sample.value >= 0:
                    parts = (sample.labels.get(key) for key in ("resource", "group"))
                    counts[".".join(filter(None, parts))] += int(sample.value)
        del counts[EVENTS]
        return counts


NAME = "soak"
ENDING_SHARE = 0.25
ENDING = {"kill-optimizer", "kill-scheduler", "stop-optimizer"}
"""Faults after which a process of the release is another one."""

WORLD = "moves"
"""The others need other values, and so another release."""

MUST_NOT_GROW = ("of the scheduler", "of the optimizer", ALL_OBJECTS)
"""Others keep what they are asked to, such as the API server's cache of events."""


def run_soak(hours: float, seed: int, warm_up_s: float, results: Path, say: Say) -> str:
    """Try faults for so long, write ``<results>/soak.json``, return the table."""
    rng = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
    plain = [do for do, kind in KINDS.items() if kind.values is KINDS["nothing"].values]
    faults = [one for one in load_faults() if one.settings.world == WORLD and one.settings.do in plain]
    lasting = [fault for fault in faults if fault.settings.do not in ENDING]
    trials: list[Trial] = []
    name, length_s = f"soak-{secrets.token_hex(3)}", hours * S_AN_HOUR
    with open_fault_cluster(name, (results,), METRICS_VALUES) as cluster:
        cluster.release_for(faults[0])
        with Sampler(lambda: cluster.release, cluster.run.api) as sampler:
            while sampler.length_s < length_s:
                early = sampler.length_s < ENDING_SHARE * length_s
                fault = rng.choice(faults if early else lasting)
                fresh = on_fresh_nodes(fault, len(trials) + 1)
                attempt = Attempt(cluster, fresh, len(trials) + 1, seed, results / NAME)
                trials.append(attempt.run())
                say(f"{sampler.length_s:.0f} s: {trials[-1].in_words()}")
        points = dict(sampler.points)
    figures = [*reliability_figures(trials), *slope_figures(points, warm_up_s)]
    about = {"seed": seed, "hours": hours, "warm_up_s": warm_up_s}
    shown = write_figures(results / f"{NAME}.json", figures, about)
    return must_have_passed(trials, shown, results / NAME, say)


def slope_figures(points: Mapping[str, Sequence[Point]], warm_up_s: float) -> Iterator[Figure]:
    """Yield how fast everything grows that was sampled, with its interval."""
    slopes = {name: slope_of([points[name]], warm_up_s) for name in sorted(points)}
    growing = ", ".join(
        f"{name.removeprefix(OBJECTS_OF)} {slope.per_hour:+.0f}"
        for name, slope in slopes.items()
        if name.startswith(OBJECTS_OF) and slope is not None and not slope.is_none
    )
    interval = f"{CONFIDENCE:.0%} interval, from {warm_up_s:g} s of each life on"
    for name, slope in slopes.items():
        if name.startswith(OBJECTS_OF):
            continue
        unit = "MiB/h" if name.startswith(("memory", "live heap")) else "1/h"
        if slope is None:
            yield Figure(f"slope: {name}", None, unit, note=f"too few samples; {interval}")
            continue
        checked = name.endswith(MUST_NOT_GROW)
        target, met = ("0 in the interval", slope.is_none) if checked else ("", None)
        note = f"{interval}; {growing}" if name == ALL_OBJECTS and growing else interval
        spread = (slope.low, slope.high)
        yield Figure(f"slope: {name}", slope.per_hour, unit, target, met, slope.parts, spread, note)
