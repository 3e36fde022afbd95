"""A fleet as large as Kubernetes supports, in which each waiting pod needs one move.

Every node has a little room, for none of the pods that wait; but if one of its own goes
elsewhere, for one of them. It is made as a snapshot, without a scheduler, which would
take minutes to fill it.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.optimizer_service.service import RunningService

GIB = 1024**3
MIB = 1024**2
NODE_CPU_MILLI, NODE_MEMORY_BYTES, NODE_PODS = 32_000, 128 * GIB, 110
PODS_A_NODE = 10
CPU_MILLI, MEMORY_MIB = (500, 6000), (512, 12 * 1024)
FREE_MILLI = (500, 3900)
"""What is left on a node: less than any of the pods that wait asks for."""

WAITING_CPU_MILLI, WAITING_MEMORY_GIB = (4000, 4800), (2, 8)
PODS_A_WORKLOAD, WAITING_A_WORKLOAD = 125, 25
WAITING_SHARE = 0.1
"""Waiting pods for each node."""

LIMIT_S = 1.0
"""The chart's default."""

GRACE_S = 30.0
SEED = 1


@dataclass(frozen=True, slots=True)
class FleetCall:
    """What one call gave.

    Parameters
    ----------
    read_s, check_s
        As the service accounts for them.
    first_plan_s, wall_s
        From the call to the first plan and to the last update, by the caller's clock;
        the first is the second if there was none.
    placed, moves
        Of the last plan, for each pod that waits.
    """

    read_s: float
    check_s: float
    first_plan_s: float
    wall_s: float
    placed: float
    moves: float


def fleet_snapshot(nodes: int, seed: int = SEED) -> pb.Snapshot:
    """Return a fleet of ``nodes`` nodes and ten times as many pods that run."""
    draw = random.Random(seed)  # noqa: S311 - not for secrets
    snapshot = pb.Snapshot(id=f"fleet-{nodes}-{seed}")
    sizes = []
    for number in range(max(1, nodes * PODS_A_NODE // PODS_A_WORKLOAD)):
        size = draw.randrange(*CPU_MILLI, 100), draw.randrange(*MEMORY_MIB, 256) * MIB
        sizes.append(size)
        _add_class(snapshot, f"running-{number}", *size)
    for number in range(nodes):
        name = f"node-{number}"
        snapshot.nodes.add(
            name=name,
            allocatable=pb.Resources(
                cpu_milli=NODE_CPU_MILLI, memory_bytes=NODE_MEMORY_BYTES, pods=NODE_PODS
            ),
            labels={"kubernetes.io/hostname": name},
        )
        for slot, workload in enumerate(_contents(draw, sizes)):
            _add_pod(snapshot, f"running-{workload}", f"{name}-{slot}", name)
    waiting = round(nodes * WAITING_SHARE)
    for number in range(waiting):
        workload, first = divmod(number, WAITING_A_WORKLOAD)
        if not first:
            cpu_milli = draw.randrange(*WAITING_CPU_MILLI, 100)
            memory_bytes = draw.randrange(*WAITING_MEMORY_GIB) * GIB
            _add_class(snapshot, f"waiting-{workload}", cpu_milli, memory_bytes)
        _add_pod(snapshot, f"waiting-{workload}", f"waiting-{number}", "")
    return snapshot


def _contents(draw: random.Random, sizes: list[tuple[int, int]]) -> list[int]:
    """Return the workloads of a node's pods, which leave too little for one more."""
    least, most = FREE_MILLI
    while True:
        drawn = [draw.randrange(len(sizes)) for _ in range(PODS_A_NODE - 1)]
        cpu_milli = sum(sizes[one][0] for one in drawn)
        memory_bytes = sum(sizes[one][1] for one in drawn)
        fitting = [
            one
            for one, (cpu, memory) in enumerate(sizes)
            if least <= NODE_CPU_MILLI - cpu_milli - cpu <= most
            and memory_bytes + memory <= NODE_MEMORY_BYTES
        ]
        if fitting:
            return [*drawn, draw.choice(fitting)]


def _add_class(
    snapshot: pb.Snapshot, name: str, cpu_milli: int, memory_bytes: int
) -> None:
    snapshot.pod_classes.add(
        id=name,
        namespace="fleet",
        labels={"app": name},
        owner=pb.Owner(kind="ReplicaSet", name=name, uid=f"owner-{name}"),
        requests=pb.Resources(cpu_milli=cpu_milli, memory_bytes=memory_bytes),
    )


def _add_pod(snapshot: pb.Snapshot, workload: str, name: str, node: str) -> None:
    snapshot.pods.add(
        uid=f"uid-{name}",
        namespace="fleet",
        name=name,
        class_id=workload,
        node=node,
        movable=bool(node),
    )


def fleet_calls(
    service: RunningService, strategy: str, nodes: int, calls: int
) -> tuple[FleetCall, ...]:
    """Return what ``calls`` calls gave, each at the chart's default limit."""
    request = pb.SolveRequest(
        snapshot=fleet_snapshot(nodes),
        options=pb.SolveOptions(strategy=strategy, time_limit_s=LIMIT_S),
    )
    return tuple(_call(service, request) for _ in range(calls))


def _call(service: RunningService, request: pb.SolveRequest) -> FleetCall:
    waiting = sum(1 for pod in request.snapshot.pods if not pod.node)
    began = time.perf_counter()
    first_plan_s, last = None, pb.SolveUpdate()
    for last in service.stub.Solve(request, timeout=LIMIT_S + GRACE_S):
        if last.plan.placements and first_plan_s is None:
            first_plan_s = time.perf_counter() - began
    wall_s = time.perf_counter() - began
    return FleetCall(
        read_s=last.durations.decode_s,
        check_s=last.durations.verify_s,
        first_plan_s=wall_s if first_plan_s is None else first_plan_s,
        wall_s=wall_s,
        placed=len(last.plan.placements) / waiting,
        moves=len(last.plan.moves) / waiting,
    )
