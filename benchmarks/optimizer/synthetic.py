"""Made fleets: few large workloads, many small ones, and nodes as clouds sell them."""

from __future__ import annotations

import numpy as np

from benchmarks.optimizer.fleet import NOWHERE, Fleet

KINDS, CLASSES, PRIORITIES = 20, 2000, 4
PRIORITY_SHARES = (0.25, 0.35, 0.25, 0.15)
"""From the lowest priority on."""

NODE_CPU_MILLI = (8_000, 16_000, 32_000, 48_000, 64_000, 96_000, 128_000)
GIB_A_CORE = (2, 4, 8)
SYSTEM_CPU_MILLI, SYSTEM_MEMORY_MIB = 400, 600
NODE_GPUS, GPU_SHARE = (1, 2, 4, 8), 0.3
PODS_A_NODE = 110

CPU_MILLI = (250, 500, 1000, 2000, 4000, 6000, 8000, 12_000, 16_000)
CPU_SHARES = (0.12, 0.2, 0.2, 0.18, 0.12, 0.06, 0.06, 0.04, 0.02)
POD_GIB_A_CORE, POD_GIB_SHARES = (1, 2, 4, 8), (0.2, 0.35, 0.3, 0.15)
POD_GPU_MILLI, POD_GPU_SHARE = (250, 500, 1000, 2000), 0.06
SCALE = 1.55
"""How much larger pods are than these: some ten fill a node."""

ZONES, ZONE_SHARE = 3, 0.15
"""So many of the classes are bound to one zone."""

ZIPF = 0.9
"""How unlike workloads are in size."""


def make_fleet(nodes: int, fill: float, seed: int) -> Fleet:
    """Return a made fleet whose pods all wait; they ask for ``fill`` of the room."""
    draw = np.random.default_rng(seed)
    cpu_milli = draw.choice(NODE_CPU_MILLI, KINDS)
    memory_mib = cpu_milli * draw.choice(GIB_A_CORE, KINDS) * 1024 // 1000
    gpus = draw.choice(NODE_GPUS, KINDS) * (draw.random(KINDS) < GPU_SHARE)
    room = np.stack(
        [
            cpu_milli - SYSTEM_CPU_MILLI,
            memory_mib - SYSTEM_MEMORY_MIB,
            1000 * gpus,
            np.full(KINDS, PODS_A_NODE),
        ],
        axis=1,
    )
    shares = draw.dirichlet(np.full(KINDS, 1.5))
    kind = np.sort(draw.choice(KINDS, nodes, p=shares))
    asked_milli = (SCALE * draw.choice(CPU_MILLI, CLASSES, p=CPU_SHARES)).astype(int)
    ratio = draw.choice(POD_GIB_A_CORE, CLASSES, p=POD_GIB_SHARES)
    asked_mib = (asked_milli * ratio * draw.choice([0.75, 1, 1.25], CLASSES)).astype(
        int
    )
    asked_gpu = draw.choice(POD_GPU_MILLI, CLASSES)
    asked_gpu *= draw.random(CLASSES) < POD_GPU_SHARE
    need = np.stack([asked_milli, asked_mib, asked_gpu, np.ones(CLASSES, int)], axis=1)
    zone = draw.integers(0, ZONES, KINDS)
    own = np.where(
        draw.random(CLASSES) < ZONE_SHARE, draw.integers(0, ZONES, CLASSES), -1
    )
    class_of = _drawn(draw, nodes, need, fill * room[kind].sum(axis=0))
    return Fleet(
        name=f"made-{nodes}-{fill:.2f}-{seed}",
        room=room,
        kind=kind,
        need=need,
        priority=draw.choice(PRIORITIES, CLASSES, p=PRIORITY_SHARES),
        suits=(own[:, None] < 0) | (own[:, None] == zone[None, :]),
        class_of=class_of,
        home=np.full(len(class_of), NOWHERE),
    )


def _drawn(
    draw: np.random.Generator, at_once: int, need: np.ndarray, most: np.ndarray
) -> np.ndarray:
    """Return classes of pods until CPU or memory is asked for as much as ``most``."""
    weight = 1 / np.arange(1, CLASSES + 1) ** ZIPF
    weight = draw.permutation(weight) / weight.sum()
    drawn: list[np.ndarray] = []
    asked = np.zeros(need.shape[1])
    while (asked[:2] < most[:2]).all():
        drawn.append(draw.choice(CLASSES, at_once, p=weight))
        asked += need[drawn[-1]].sum(axis=0)
    return np.concatenate(drawn)
