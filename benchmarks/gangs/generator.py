"""Clusters with gangs, drawn from a seed; and two that threads of other projects tell of."""

import math
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from benchmarks.gangs.instance import NOWHERE, PODS_A_NODE, Amounts, GangInstance, Workload

SIZES = (8, 16, 32, 64, 128)
"""Nodes; the seeds take them in turn."""

FILLS = 0.9, 1.1
"""What all pods ask for of the scarcest resource, at least and at most."""

RUNNING = 0.6, 0.85
"""What the running pods ask for of all that is asked for, at least and at most."""

GIB = 1024
NODE_KINDS = (
    Amounts(16_000, 64 * GIB),
    Amounts(32_000, 128 * GIB),
    Amounts(64_000, 256 * GIB),
    Amounts(64_000, 512 * GIB, 4),
    Amounts(96_000, 768 * GIB, 8),
)
MOST_KINDS = 3

CORES = (1, 2, 4, 8, 16, 32)
GIB_A_CORE = (2, 4, 8)
GPUS = (1, 2, 4, 8)
GPU_SHARE = 0.7
"""Of the workloads that are made for a node with GPUs."""

LEFT_FOR_OTHERS = 4
"""A pod with GPUs leaves one part in so many of what else belongs to these."""

DRAWS = 400
"""Of workloads; most of them come when there is no room left for theirs."""

GANG_SIZES = 2, 64
LARGEST = 0.4
"""Of the pods like its own that would fit on the empty cluster, a gang has this share at most."""

PRIORITIES = (0, 100, 200)
WAITING_SHARES = (0.2, 0.3, 0.5)
RUNNING_SHARES = (0.5, 0.3, 0.2)
"""From the lowest priority on: who waits in a full cluster is mostly more important than who runs."""

SLACK_SHARE, SLACK = 1 / 3, 0.75
"""So many of the gangs are enough with that share of their pods, ..."""
SHORT_SHARE = 1 / 2
"""... of which so many run with no more than these."""

BROKEN_SHARE = 0.1
"""Of the gangs that run: one pod was lost with its node."""

WHOLE_SHARE = 1 / 4
SINGLE_SHARE = 1 / 5
"""Of the workloads that run: pods that are no gang."""

Draw = np.random.Generator


def make_instance(seed: int) -> GangInstance:
    """Return a cluster that has run for a while: three priorities run on it, and more waits."""
    draw = np.random.default_rng(seed)
    number, fill = SIZES[seed % len(SIZES)], draw.uniform(*FILLS)
    kinds = draw.choice(len(NODE_KINDS), draw.integers(1, MOST_KINDS, endpoint=True), replace=False)
    nodes = tuple(NODE_KINDS[kind] for kind in draw.choice(kinds, number).tolist())
    drawn = _demand(draw, nodes, fill)
    room = np.array(nodes).sum(axis=0)
    most = draw.uniform(*RUNNING) * sum(_share(need, pods, room) for need, pods in drawn)
    # Pods too are limited.
    free = np.array([[*one, PODS_A_NODE] for one in nodes])
    workloads, running = list[Workload](), 0.0
    for index, (need, pods) in enumerate(drawn):
        homes = _homes(draw, need, pods, free) if running < most else ()
        running += _share(need, pods, room) if homes else 0.0
        workloads.append(_runs(draw, f"w{index}", need, homes) if homes else _waits(draw, f"w{index}", need, pods))
    return GangInstance(f"seed-{seed}", nodes, tuple(workloads))


def _demand(draw: Draw, nodes: tuple[Amounts, ...], fill: float) -> list[tuple[Amounts, int]]:
    """Return what pods of workloads ask for, and how many they are: up to ``fill``, and little less."""
    room, asked = np.array(nodes).sum(axis=0), np.zeros(len(Amounts._fields))
    low, high = map(math.log, GANG_SIZES)
    drawn, kinds, there = list[tuple[Amounts, int]](), Counter(nodes), room > 0
    for _ in range(DRAWS):
        need = _need(draw, nodes[draw.integers(len(nodes))])
        fit = sum(number * _fit(need, node) for node, number in kinds.items())
        wanted = round(math.exp(draw.uniform(low, high)))
        left = fill - (asked[there] / room[there]).max()
        pods = min(wanted, int(LARGEST * fit), int(left / _share(need, 1, room)))
        if pods >= GANG_SIZES[0]:
            drawn.append((need, pods))
            asked += np.array(need) * pods
    return drawn


def _fit(need: Amounts, node: Amounts) -> int:
    return min(has // wants for has, wants in zip(node, need, strict=True) if wants)


def _need(draw: Draw, node: Amounts) -> Amounts:
    """Return what a pod asks for that is made for this kind of node."""
    if node.gpus and draw.random() < GPU_SHARE:
        gpus = int(draw.choice([one for one in GPUS if one <= node.gpus]))
        parts = LEFT_FOR_OTHERS * node.gpus
        cpu_milli, memory_mib = (amount * gpus * (LEFT_FOR_OTHERS - 1) // parts for amount in node[:2])
        return Amounts(cpu_milli, memory_mib, gpus)
    cores = int(draw.choice([one for one in CORES if 2000 * one <= node.cpu_milli]))
    return Amounts(1000 * cores, min(cores * int(draw.choice(GIB_A_CORE)) * GIB, node.memory_mib))


def _share(need: Amounts, pods: int, room: NDArray[np.int64]) -> float:
    """Return what pods ask for of the resource that is scarcest for them."""
    return max(pods * wants / int(has) for wants, has in zip(need, room, strict=True) if wants)


def _homes(draw: Draw, need: Amounts, pods: int, free: NDArray[np.int64]) -> tuple[int, ...]:
    """Return a random node with room for each pod, and take the room; none if there is too little for all of them."""
    left, homes, wants = free.copy(), list[int](), np.array([*need, 1])
    for _ in range(pods):
        fitting = np.flatnonzero((left >= wants).all(axis=1))
        if not len(fitting):
            return ()
        homes.append(int(draw.choice(fitting)))
        left[homes[-1]] -= wants
    free[:] = left
    return tuple(homes)


def _waits(draw: Draw, name: str, need: Amounts, pods: int) -> Workload:
    """Return a gang that waits."""
    priority = int(draw.choice(PRIORITIES, p=WAITING_SHARES))
    return Workload(name, priority, need, (NOWHERE,) * pods, _least(draw, pods), _leaves_whole(draw))


def _runs(draw: Draw, name: str, need: Amounts, homes: tuple[int, ...]) -> Workload:
    """Return a gang that runs, as far as it does; or single pods that run."""
    priority, pods = int(draw.choice(PRIORITIES, p=RUNNING_SHARES)), len(homes)
    if draw.random() < SINGLE_SHARE:
        return Workload(name, priority, need, homes)
    least, there = _least(draw, pods), pods
    if least < pods and draw.random() < SHORT_SHARE:
        there = least
    elif draw.random() < BROKEN_SHARE:
        there = least - 1
    # The room of the others was held until now, as if somebody else had just left it.
    return Workload(name, priority, need, (*homes[:there], *(NOWHERE,) * (pods - there)), least, _leaves_whole(draw))


def _least(draw: Draw, pods: int) -> int:
    return math.ceil(SLACK * pods) if draw.random() < SLACK_SHARE else pods


def _leaves_whole(draw: Draw) -> bool:
    return bool(draw.random() < WHOLE_SHARE)


TINY_NODES, TINY_ROOM = (2, 4), (2, 4)
"""Nodes and their cores, at least and at most."""

TINY_GANGS, TINY_SINGLES, MOST_IN_GANG = 2, 2, 3
RUNS, SINGLE_RUNS = (0.0, 0.0, 0.6, 1.0), 0.6
"""Chances of the pods of a gang to run, which may be fewer than enough; and of a pod that is no gang."""


def make_tiny(seed: int) -> GangInstance:
    """Return a cluster so small that every assignment can be tried: two gangs and at most two other pods."""
    draw = np.random.default_rng(seed)
    number = int(draw.integers(*TINY_NODES, endpoint=True))
    free = [int(1000 * cores) for cores in draw.integers(*TINY_ROOM, number, endpoint=True)]
    nodes = tuple(Amounts(room, GIB) for room in free)
    workloads = list[Workload]()
    for index in range(TINY_GANGS + int(draw.integers(TINY_SINGLES, endpoint=True))):
        gang = index < TINY_GANGS
        size = int(draw.integers(GANG_SIZES[0], MOST_IN_GANG, endpoint=True)) if gang else 1
        need = Amounts(1000 * int(draw.integers(1, 2, endpoint=True)), 1)
        runs = float(draw.choice(RUNS)) if gang else SINGLE_RUNS
        homes = list[int]()
        for _ in range(size):
            fitting = [node for node, left in enumerate(free) if left >= need.cpu_milli]
            home = int(draw.choice(fitting)) if fitting and draw.random() < runs else NOWHERE
            if home != NOWHERE:
                free[home] -= need.cpu_milli
            homes.append(home)
        least = int(draw.integers(1, size, endpoint=True)) if gang else 0
        whole = gang and _leaves_whole(draw)
        priority = int(draw.choice(PRIORITIES))
        workloads.append(Workload(f"w{index}", priority, need, tuple(homes), least, whole))
    return GangInstance(f"tiny-{seed}", nodes, tuple(workloads))


EIGHT_GPUS = Amounts(64_000, 512 * GIB, 8)


def _pods(gpus: int, *homes: int, name: str, priority: int = 0, least: int = 0, whole: bool = False) -> Workload:
    need = Amounts(4000 * gpus, 32 * GIB * gpus, gpus)
    return Workload(name, priority, need, homes, least, whole)


THREADS = (
    # Gangs that leave whole lie across all nodes; what is freed of one of them is on no node enough for the pod.
    GangInstance(
        "kueue-5243",
        (EIGHT_GPUS,) * 4,
        (
            *(_pods(2, 0, 1, 2, 3, name=f"running-{one}", least=4, whole=True) for one in range(4)),
            _pods(8, NOWHERE, name="waiting", priority=100),
        ),
    ),
    # Four GPUs are free, on three nodes; nobody is less important than the pod that wants all four.
    GangInstance(
        "volcano-3948",
        (EIGHT_GPUS,) * 3,
        (
            _pods(4, 0, 1, 2, name="four"),
            _pods(2, 0, 1, 2, name="two"),
            _pods(1, 0, 2, name="one"),
            _pods(4, NOWHERE, name="waiting", least=1),
        ),
    ),
)
"""kubernetes-sigs/kueue#5243 and volcano-sh/volcano#3948 (its first scenario), on clusters without their queues."""
