"""Prices as the scheduler's plugin Devices finds them, which has no linear program; compiled.

They are near the duals of the program of `prices.price`: its dual, all room's cost in relation to that of the pods, is
descended by projected subgradients. ``scheduler/plugins/devices/prices.go`` has the same steps; tests compare both.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from stowage_testbed.reproduce.fgd.prices import UNITS, suits, units_of
from stowage_testbed.reproduce.fgd.simulation import PriceArrays
from stowage_testbed.reproduce.fgd.workload import MILLI, Fleet, Floats, Ints, PodList

STEPS = 3200
FIRST_STEP = 0.3
CPU_AT_FIRST, MEMORY_AT_FIRST = 0.1, 0.05
"""What all CPU and all memory of a node are worth at first, in GPUs."""


class Program(NamedTuple):
    """Nodes by kind, pods by class; CPU and memory in those of a mean kind of node.

    ``room`` has CPU, memory and GPUs of all nodes of a kind, ``sizes`` what pods take of a GPU, in units, and a whole
    one; ``size`` is its place by class, negative without a GPU; ``pods`` is for a load of all GPUs.
    """

    room: Floats
    need: Floats
    gpus: Floats
    size: Ints
    pods: Floats
    suits: Ints
    sizes: Ints


def descended_price(pods: PodList, fleet: Fleet) -> PriceArrays:
    """Return prices at which all classes of the list fill the fleet, nearly as far as they can."""
    kinds, need = np.array(fleet.kinds, float), pods.pods
    number = np.bincount(fleet.nodes.kind, minlength=len(kinds))
    scale = kinds[:, :2].mean(axis=0)
    milli = np.where(need.gpus > 0, np.minimum(need.gpu_milli, MILLI), 0)
    units = np.array([units_of(one) for one in milli.tolist()])
    sizes = np.unique(np.append(units[units > 0], UNITS))
    program = Program(
        room=number[:, None] * np.column_stack([kinds[:, :2] / scale, kinds[:, 2]]),
        need=np.column_stack([need.cpu_milli, need.memory_mib]) / scale,
        gpus=need.gpus.astype(float),
        size=np.where(units > 0, np.searchsorted(sizes, units), -1),
        pods=pods.count.astype(np.float64) * (fleet.gpu_milli / float(pods.gpu_milli[pods.class_of].sum())),
        suits=np.array([[suits(pods, c, kind) for kind in fleet.kinds] for c in range(len(milli))], np.int64),
        sizes=sizes,
    )
    at = np.empty((len(kinds), 2 + len(sizes)))
    at[:, 0], at[:, 1], at[:, 2:] = CPU_AT_FIRST, MEMORY_AT_FIRST, sizes / UNITS
    at, gap, cost = _descend(program, at)
    per_cost = fleet.gpu_milli / cost
    return PriceArrays(gap * per_cost, at[:, 0] * per_cost / scale[0], at[:, 1] * per_cost / scale[1])


@njit(cache=True, nogil=True)
def _descend(program: Program, at: Floats) -> tuple[Floats, Floats, float]:
    """Return the mean prices of the second half of the steps, the worth of gaps at them, and what the pods cost."""
    mean, gap = np.zeros_like(at), np.zeros((len(at), UNITS + 1))
    room_slope, pods_slope = np.zeros_like(at), np.zeros_like(at)
    for step in range(STEPS):
        room, cost = _evaluate(program, at, gap, room_slope, pods_slope)
        slope = room_slope / room - pods_slope / cost
        # Prices matter in relation to one another alone.
        at = at / at.sum() * len(at)
        far = FIRST_STEP / np.sqrt(1 + step) * np.sqrt((at * at).sum() / (slope * slope).sum())
        at = np.maximum(0.0, at - far * slope)
        if step >= STEPS // 2:
            mean += at / at.sum()
    _, cost = _evaluate(program, mean, gap, room_slope, pods_slope)
    return mean, gap, cost


@njit(cache=True, nogil=True)
def _evaluate(program: Program, at: Floats, gap: Floats, room_slope: Floats, pods_slope: Floats) -> tuple[float, float]:
    """Return what all room costs and what the pods do, and write the slopes of both and the worth of gaps."""
    room = cost = 0.0
    room_slope[:], pods_slope[:] = 0.0, 0.0
    content = np.zeros(len(program.sizes), np.int64)
    for kind in range(len(at)):
        _fill(program.sizes, at[kind, 2:], gap[kind], content)
        room_slope[kind, :2] = program.room[kind, :2]
        room_slope[kind, 2:] = program.room[kind, 2] * content
        room += (program.room[kind, :2] * at[kind, :2]).sum() + program.room[kind, 2] * gap[kind, UNITS]
    for c in range(len(program.pods)):
        best, least, size = -1, np.inf, program.size[c]
        for kind in range(len(at)):
            if program.suits[c, kind]:
                price = program.need[c, 0] * at[kind, 0] + program.need[c, 1] * at[kind, 1]
                if size >= 0:
                    price += program.gpus[c] * at[kind, 2 + size]
                if price < least:
                    best, least = kind, price
        if best >= 0:
            cost += program.pods[c] * least
            pods_slope[best, :2] += program.pods[c] * program.need[c]
            if size >= 0:
                pods_slope[best, 2 + size] += program.pods[c] * program.gpus[c]
    return room, cost


@njit(cache=True, nogil=True)
def _fill(sizes: Ints, worth: Floats, best: Floats, content: Ints) -> None:
    """Write the most that shares are worth in each number of units, and the best content of a whole GPU."""
    last = np.full(UNITS + 1, -1)
    best[0], content[:] = 0.0, 0
    for units in range(1, UNITS + 1):
        best[units] = best[units - 1]
        for s in range(len(sizes)):
            if sizes[s] <= units and best[units - sizes[s]] + worth[s] > best[units]:
                best[units], last[units] = best[units - sizes[s]] + worth[s], s
    units = UNITS
    while units > 0:
        if last[units] >= 0:
            content[last[units]] += 1
            units -= sizes[last[units]]
        else:
            units -= 1
