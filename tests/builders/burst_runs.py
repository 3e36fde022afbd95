"""Runs of a burst as a queue gives them, from a seed; for tests of the comparison.

One scheduler serves one pod after the other, so that the pods' latencies hang together
as they do in a real run, and a slow run is slow for all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from amounts import GPU, size, taken

from stowage_testbed.metrics.record import PodRecord, RunRecord
from stowage_testbed.metrics.state import NodeState

ARRIVALS_PER_S = 300.0


@dataclass(frozen=True, slots=True)
class BurstArm:
    """How a scheduler behaves: seconds that it takes for a pod, and the spread of a run's speed (of its logarithm).

    ``skew`` is the share of pods that go anywhere instead of to the emptiest node; ``machine`` is the speed of what it
    runs on, and of what creates its pods.
    """

    name: str = "default"
    service_s: float = 0.004
    run_spread: float = 0.08
    skew: float = 0.02
    machine: float = 1.0


def a_burst_run(
    rng: np.random.Generator,
    arm: BurstArm,
    round_number: int = 1,
    *,
    limits: str = "own",
    nodes: int = 5,
    pods: int = 200,
    gpus: int = 0,
    workloads: Sequence[str] = ("burst",),
) -> RunRecord:
    """Return one run; every pod takes ``gpus``, and a node has as many for 80 pods."""
    pace = arm.service_s / arm.machine * np.exp(rng.normal(0, arm.run_spread))
    services = pace * rng.lognormal(0, 0.3, pods)
    starts = rng.lognormal(-1.5, 0.2, pods)
    places = _places(rng, arm.skew, nodes, pods)
    free_s, found = 0.0, []
    for number in range(pods):
        created_s = round(number / (ARRIVALS_PER_S * arm.machine), 6)
        free_s = max(free_s, created_s) + services[number]
        workload = workloads[number % len(workloads)]
        found.append(
            PodRecord(
                uid=f"{round_number}-{arm.name}-{number}",
                name=f"{workload}-{rng.integers(16**5):05x}-{number:04}",
                workload=workload,
                priority=1000 * (number % len(workloads)),
                requests=taken(10, 16 * 2**20, {GPU: gpus}),
                node=f"node-{places[number]}",
                created_s=created_s,
                bound_s=round(float(free_s), 6),
                ready_s=round(float(free_s + starts[number]), 6),
            )
        )
    return RunRecord(
        scenario_id="burst/deployment-200",
        arm=arm.name,
        limits=limits,
        round_number=round_number,
        nodes=tuple(
            NodeState(f"node-{number}", size(4000, 16 * 2**30, more={GPU: gpus * 80})) for number in range(nodes)
        ),
        pods=tuple(found),
        window_s=round(float(free_s) + 2, 6),
        audit_lag_s=0.0004,
        api_pods=pods,
        peak_memory_bytes=int(60 * 2**20 * np.exp(rng.normal(0, 0.03))),
        cpu_s=round(float(pace * pods), 2),
        warm=True,
    )


def burst_rounds(seed: int, arms: Sequence[BurstArm], rounds: int, *, limits: str = "own") -> list[RunRecord]:
    """Return the runs of several rounds; in each every arm runs once."""
    rng = np.random.default_rng(seed)
    return [a_burst_run(rng, arm, number, limits=limits) for number in range(1, rounds + 1) for arm in arms]


def _places(rng: np.random.Generator, skew: float, nodes: int, pods: int) -> list[int]:
    loads = np.zeros(nodes, dtype=int)
    places = []
    for _ in range(pods):
        emptiest = int(np.argmin(loads + rng.random(nodes) / 2))
        place = int(rng.integers(nodes)) if rng.random() < skew else emptiest
        loads[place] += 1
        places.append(place)
    return places
