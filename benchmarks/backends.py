"""What each backend costs: time until it can be used, and memory."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import psutil

from benchmarks.command import Say, write_figures
from benchmarks.optimizer.measurement import pss_bytes
from stowage_testbed.amounts.resources import MOST_PODS, Resources
from stowage_testbed.cluster.backend import Backend
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.choice import new_cluster
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.cluster.kind.containers import containers
from stowage_testbed.cluster.node_pool import NodePool
from stowage_testbed.cluster.nodes import create_nodes
from stowage_testbed.cluster.processes import processes_of
from stowage_testbed.helm.install import install_release
from stowage_testbed.images.docker_engine import docker
from stowage_testbed.text.figure import Figure, figure

NODES = 10
PROFILE = "optimizer"


@dataclass(frozen=True, slots=True)
class Cost:
    """What one cluster took.

    Attributes
    ----------
    up_s
        Until the API server, the controllers and KWOK are at work.
    nodes_s
        Until ten fake nodes are Ready.
    release_s
        Until scheduler and optimiser are Ready.
    down_s
        Until nothing is left.
    control_bytes, whole_bytes
        Memory before the release and with it: proportional set sizes of all processes,
        those in containers too, without the Docker engine's own.
    """

    backend: Backend
    up_s: float
    nodes_s: float
    release_s: float
    down_s: float
    control_bytes: int
    whole_bytes: int


def measure(backend: Backend, name: str) -> Cost:
    """Measure one cluster from nothing to nothing.

    Raises
    ------
    StowageError
        It does not come up, or the release does not.
    """
    cluster = new_cluster(backend, name)
    seconds: dict[str, float] = {}
    begun = time.monotonic()
    with running_cluster(cluster):
        seconds["up_s"] = time.monotonic() - begun
        size = Resources(cpu=4000, memory=8 << 30, pods=MOST_PODS)
        pools = [NodePool("node", NODES, size)]
        with cluster.api_client() as api:
            seconds["nodes_s"] = _timed(lambda: create_nodes(api, pools))
        control = _memory_bytes(cluster)
        seconds["release_s"] = _timed(
            lambda: install_release(cluster, profile=PROFILE, optimizer_enabled=True)
        )
        whole = _memory_bytes(cluster)
        begun = time.monotonic()
    seconds["down_s"] = time.monotonic() - begun
    return Cost(backend, **seconds, control_bytes=control, whole_bytes=whole)


def _timed(act: Callable[[], object]) -> float:
    begun = time.monotonic()
    act()
    return time.monotonic() - begun


def _memory_bytes(cluster: Cluster) -> int:
    found = [*processes_of(cluster.workdir), *_in_containers(cluster)]
    return pss_bytes({one.pid: one for one in found}.values())


def _in_containers(cluster: Cluster) -> Iterator[psutil.Process]:
    if cluster.backend is Backend.KWOK_BINARY:
        return
    names = containers(cluster.name)
    identities = docker("inspect", "--format", "{{.Id}}", *names).split()
    for process in psutil.process_iter():
        if _is_of(process.pid, identities):
            yield process


def _is_of(pid: int, containers: Iterable[str]) -> bool:
    """Return whether a process is in a container, or in one inside that."""
    try:
        groups = Path(f"/proc/{pid}/cgroup").read_text("utf-8")
    except OSError:
        return False
    return any(identity in groups for identity in containers)


NAME = "bench-backends"
_MEGA = 1e6
_TIMES = {
    "up_s": "control plane ready",
    "nodes_s": f"{NODES} fake nodes Ready",
    "release_s": f"release Ready, profile {PROFILE}",
    "down_s": "gone without a trace",
}
_MEMORY = {"control_bytes": "control plane", "whole_bytes": "with the release"}


def run_benchmark(rounds: int, results: Path, say: Say) -> str:
    """Measure, write ``<results>/bench-backends.json``, return the table.

    Parameters
    ----------
    rounds
        How often each backend is brought up, one after the other. A round before them
        is not counted: it brings the images into the engine.
    say
        Receives a line for each cluster.

    Raises
    ------
    StowageError
        A backend does not work here.
    """
    costs: list[Cost] = []
    for number in range(rounds + 1):
        for backend in Backend:
            cost = measure(backend, f"bench-{secrets.token_hex(3)}")
            say(f"round {number}: {backend} up in {cost.up_s:.1f} s")
            if number:
                costs.append(cost)
    figures = list(backend_figures(costs))
    clusters = [asdict(one) for one in costs]
    return write_figures(results / f"{NAME}.json", figures, clusters=clusters)


def backend_figures(costs: Sequence[Cost]) -> Iterator[Figure]:
    """Yield each backend's times and memory, as medians."""
    for backend in Backend:
        own = [cost for cost in costs if cost.backend is backend]
        for key, what in _TIMES.items():
            samples = [float(getattr(cost, key)) for cost in own]
            yield figure(f"{backend}: {what}", "s", samples, median)
        for key, what in _MEMORY.items():
            samples = [getattr(cost, key) / _MEGA for cost in own]
            yield figure(f"{backend}: memory, {what}", "MB", samples, median)
