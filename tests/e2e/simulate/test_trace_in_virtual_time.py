"""A trace in virtual time is worth nothing unless a real cluster does the same."""

import random
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue

import msgspec
import pytest
from arrivals import NAMESPACE, RealCluster
from scheduler_process import running_scheduler

from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.cluster import Cluster
from stowage_testbed.cluster.node_pool import parse_node_specs
from stowage_testbed.simulate.trace_answer import simulate_trace
from stowage_testbed.trace.format import Line, PodBound, PodCame, PodEnded
from stowage_testbed.trace.reading import Trace, read_trace
from stowage_testbed.trace.record import Recorded, record

POOLS = parse_node_specs(["{count: 10, cpu: 4, memory: 6Gi}"])
ROUNDS, PODS = 15, 14
SEED, SOME = 150, 10
REQUESTS = ({"cpu": "250m"}, {"cpu": "500m", "memory": "1Gi"}, {"memory": "2Gi"})
TOO_MUCH = {"cpu": "5"}
ROUNDS_OF_LIFE = (0, 1, 2, 4, None)

Moments = Mapping[tuple[type[Line], str], int]
"""When a pod came, was bound or ended: the number of the arrival or end with which it did."""


def play_rounds(cluster: RealCluster) -> Moments:
    """Have pods come in rounds, after each of which some end: one by one, each after the effects of the one before."""
    draw = random.Random(SEED)  # noqa: S311 - no secret
    moments: dict[tuple[type[Line], str], int] = {}
    left: dict[str, int] = {}
    now = 0

    def note(what: type[Line], name: str) -> None:
        nonlocal now
        now += 1
        moments[what, name] = now
        for pod, node in cluster.placements().items():
            if node:
                moments.setdefault((PodBound, pod.removeprefix(f"{NAMESPACE}/")), now)

    def arrive(name: str, requests: Mapping[str, str]) -> None:
        container = {"name": "c", "image": "i", "resources": {"requests": requests}}
        cluster.arrive({"metadata": {"name": name}, "spec": {"containers": [container]}})
        note(PodCame, name)

    for turn in range(ROUNDS):
        for number in range(PODS):
            name = f"pod-{turn * PODS + number:03}"
            rounds = draw.choice(ROUNDS_OF_LIFE)
            if rounds is not None:
                left[name] = rounds
            arrive(name, draw.choice(REQUESTS))
        for name in [one for one in left if (PodBound, one) in moments]:
            left[name] -= 1
            if left[name] < 0:
                del left[name]
                cluster.finish(name)
                note(PodEnded, name)
    arrive("last", TOO_MUCH)
    return moments


@contextmanager
def recording(cluster: Cluster, path: Path, pods: int) -> Iterator[None]:
    """Record until so many pods have come, and all that the watch reports before the last one of them is in lines."""
    stop, began = threading.Event(), SimpleQueue[Recorded]()
    with ThreadPoolExecutor(1) as pool, cluster.api_client() as api:
        ended = pool.submit(record, api, path, stop=stop, began=began.put)
        try:
            recorded = began.get(timeout=HANG_S)
            yield
            wait_until("the last pod to be recorded", lambda: recorded.pods, lambda now: now == pods)
        finally:
            stop.set()
            ended.result(HANG_S)


def on_clock_of(moments: Moments, recorded: Trace) -> Trace:
    """Return what was recorded on a clock that the speed of the machine does not change."""

    def moment(line: Line) -> int:
        return moments[type(line), line.name] if isinstance(line, PodCame | PodBound | PodEnded) else 0

    lines = (msgspec.structs.replace(line, t=moment(line)) for line in recorded.lines)
    return replace(recorded, lines=tuple(sorted(lines, key=lambda line: line.t)))


@pytest.mark.e2e
@pytest.mark.nightly
def test_a_live_cluster_places_the_pods_of_a_trace_on_the_same_nodes(cluster: Cluster, tmp_path: Path) -> None:
    """What was recorded of it, in virtual time; those that have to wait, too, when their turn comes."""
    path = tmp_path / "recorded.jsonl.gz"
    with cluster.api_client() as api, running_scheduler(cluster, tmp_path, "deterministic") as scheduler:
        real = RealCluster(api, scheduler)
        with real.standing(POOLS):
            with recording(cluster, path, ROUNDS * PODS + 1):
                moments = play_rounds(real)
            live = real.placements()

    recorded = read_trace(path)
    bound = {f"{line.namespace}/{line.name}": line.node for line in recorded.lines if isinstance(line, PodBound)}
    assert bound == {pod: node for pod, node in live.items() if node}
    lives = simulate_trace(on_clock_of(moments, recorded), "live", "deterministic").passed.lives
    assert {life.pod: life.node or None for life in lives} == live
    assert len(live) == ROUNDS * PODS + 1
    waited = [life for life in lives if life.bound_s not in {None, life.arrived_s}]
    assert len(waited) > SOME, "agreement means nothing where all find room at once"
