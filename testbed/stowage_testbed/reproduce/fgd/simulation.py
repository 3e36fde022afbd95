"""Pods of a list placed one by one on the fleet by a policy, as in the authors' simulator; compiled.

Scores are whole numbers, the highest wins, and of equal ones the first node. A score depends only on the class of the
pod and the state of the node, so that it is computed again only for nodes that have changed.

All that is compiled stands in this one file: Numba's cache does not see changes in others.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numba import njit

from stowage_testbed.reproduce.fgd.workload import MILLI, MOST_GPUS, Floats, Ints, NodeArrays, PodArrays, TypicalArrays


class Policy(IntEnum):
    """How nodes are scored: the paper's policies, and ours."""

    RANDOM = 0
    DOT_PROD = 1
    CLUSTERING = 2
    PACKING = 3
    BEST_FIT = 4
    FGD = 5
    STOWAGE = 6
    STOWAGE_FIRST_FIT = 7


MOST_CPU_MILLI = 128_000.0
MOST_GPU_MILLI = 8000.0
"""Of a node, to normalise by (`MaxSpecCpu` and `MaxSpecGpu` of open-gpu-share/utils/const.go)."""


class PriceArrays(NamedTuple):
    """What room is worth, in thousandths of GPUs, by kind of node.

    ``gap``: a GPU of which so many hundredths are free, shape ``(kinds, 101)``. ``cpu`` and ``memory``: a thousandth of
    a core and a MiB, shape ``(kinds,)``.
    """

    gap: Floats
    cpu: Floats
    memory: Floats


PRICES = 3.0
"""Weights of our score: of prices against FGD's gradient, of what is left of CPU and of GPUs, of a GPU's rest."""
CPU_LEFT, GPU_LEFT, DEVICE_LEFT = 20.0, 50.0, 0.02
ROUNDED_TO = 40.0
"""Our score's step in thousandths of GPUs: what differs by less is a tie."""

NO_DEVICE = -1
NOWHERE = -1


class State(NamedTuple):
    """What is free by node, and what follows from it: shape ``(nodes,)``, of ``free`` ``(nodes, 8)``.

    ``sorts`` counts the pods by node and sort, which is their number of GPUs, or 0 for a share; shape ``(nodes, 9)``.
    """

    cpu: Ints
    memory: Ints
    free: Ints
    idle: Ints
    most: Ints
    total: Ints
    sorts: Ints


class Placements(NamedTuple):
    """By pod in the order of arrival: its node, negative if none had room, and a bit for each GPU that it took."""

    node: Ints
    devices: Ints


class Problem(NamedTuple):
    """What does not change while pods are placed."""

    policy: int
    pods: PodArrays
    nodes: NodeArrays
    typical: TypicalArrays
    prices: PriceArrays


def simulate(problem: Problem, arrivals: Ints, seed: int) -> Placements:
    """Return where pods of classes ``arrivals`` are placed one by one; ``seed`` is for the random policy."""
    return Placements(*_simulate(problem, arrivals, seed))


@njit(cache=True, nogil=True)
def _simulate(problem: Problem, arrivals: Ints, seed: int) -> tuple[Ints, Ints]:
    policy, pods, nodes = problem.policy, problem.pods, problem.nodes
    np.random.seed(seed)
    state = _empty(nodes)
    classes, number = len(pods.gpus), len(nodes.gpus)
    score = np.zeros((classes, number), np.int64)
    device = np.zeros((classes, number), np.int64)
    scored = np.zeros((classes, number), np.int64)
    version = np.ones(number, np.int64)
    before, measured = np.zeros(number), np.zeros(number, np.int64)
    scratch, row = np.zeros((2, len(problem.typical.sizes)), np.int64), np.zeros(MOST_GPUS, np.int64)
    where, taken = np.full(len(arrivals), NOWHERE), np.zeros(len(arrivals), np.int64)
    for arrival in range(len(arrivals)):
        c = arrivals[arrival]
        best, found, seen = 0, NOWHERE, 0
        for n in range(number):
            if not _fits(state, pods, c, n, nodes.model[n]):
                continue
            seen += 1
            if policy == Policy.RANDOM:
                if np.random.randint(seen) == 0:
                    found = n
                continue
            if scored[c, n] != version[n]:
                scored[c, n] = version[n]
                if policy >= Policy.FGD:
                    if measured[n] != version[n]:
                        measured[n] = version[n]
                        before[n] = _cost(problem, state.cpu[n], state.free[n], n, scratch)
                    score[c, n], device[c, n] = _descent(problem, state, c, n, before[n], scratch, row)
                else:
                    score[c, n] = _plain_score(problem, state, c, n)
                    device[c, n] = _tightest(state.free[n], nodes.gpus[n], pods.gpu_milli[c])
            if found == NOWHERE or score[c, n] > best:
                best, found = score[c, n], n
        if found != NOWHERE:
            where[arrival] = found
            choice = device[c, found]
            if policy == Policy.RANDOM:
                choice = _any_device(state.free[found], nodes.gpus[found], pods.gpu_milli[c])
            taken[arrival] = _place(state, pods, c, found, nodes.gpus[found], choice)
            version[found] += 1
    return where, taken


@njit(cache=True, nogil=True)
def _empty(nodes: NodeArrays) -> State:
    number = len(nodes.gpus)
    free = np.zeros((number, MOST_GPUS), np.int64)
    for n in range(number):
        free[n, : nodes.gpus[n]] = MILLI
    most = np.where(nodes.gpus > 0, MILLI, 0)
    sorts = np.zeros((number, MOST_GPUS + 1), np.int64)
    return State(
        nodes.cpu_milli.copy(), nodes.memory_mib.copy(), free, nodes.gpus.copy(), most, MILLI * nodes.gpus, sorts
    )


@njit(cache=True, nogil=True)
def _is_share(pods: PodArrays, c: int) -> bool:
    return bool(pods.gpus[c] == 1 and pods.gpu_milli[c] < MILLI)


@njit(cache=True, nogil=True)
def _fits(state: State, pods: PodArrays, c: int, n: int, model: int) -> bool:
    if state.cpu[n] < pods.cpu_milli[c] or state.memory[n] < pods.memory_mib[c]:
        return False
    if pods.gpus[c] == 0:
        return True
    if not (pods.models[c] >> model) & 1:
        return False
    if pods.gpus[c] == 1:
        return bool(state.most[n] >= pods.gpu_milli[c])
    return bool(state.idle[n] >= pods.gpus[c])


@njit(cache=True, nogil=True)
def _place(state: State, pods: PodArrays, c: int, n: int, gpus: int, device: int) -> int:
    """Take what a pod needs of a node, and return a bit for each GPU that it has."""
    taken = 0
    if _is_share(pods, c):
        state.free[n, device] -= pods.gpu_milli[c]
        state.sorts[n, 0] += 1
        taken = 1 << device
    elif pods.gpus[c] > 0:
        taken = _take_whole(state.free[n], gpus, pods.gpus[c])
        state.sorts[n, pods.gpus[c]] += 1
    state.cpu[n] -= pods.cpu_milli[c]
    state.memory[n] -= pods.memory_mib[c]
    state.idle[n] = state.most[n] = state.total[n] = 0
    for i in range(gpus):
        state.idle[n] += state.free[n, i] == MILLI
        state.most[n] = max(state.most[n], state.free[n, i])
        state.total[n] += state.free[n, i]
    return taken


@njit(cache=True, nogil=True)
def _take_whole(free: Ints, gpus: int, wanted: int) -> int:
    """Take the first idle GPUs, and return a bit for each."""
    taken = 0
    for i in range(gpus):
        if wanted > 0 and free[i] == MILLI:
            free[i] = 0
            wanted -= 1
            taken |= 1 << i
    return taken


@njit(cache=True, nogil=True)
def _tightest(free: Ints, gpus: int, milli: int) -> int:
    found = NO_DEVICE
    for i in range(gpus):
        if free[i] >= milli and (found == NO_DEVICE or free[i] < free[found]):
            found = i
    return found


@njit(cache=True, nogil=True)
def _any_device(free: Ints, gpus: int, milli: int) -> int:
    found, seen = NO_DEVICE, 0
    for i in range(gpus):
        if free[i] >= milli:
            seen += 1
            if np.random.randint(seen) == 0:
                found = i
    return found


@njit(cache=True, nogil=True)
def _plain_score(problem: Problem, state: State, c: int, n: int) -> int:
    """Return the score of a policy that does not look at other pods."""
    policy, pods = problem.policy, problem.pods
    cpu, asked = pods.cpu_milli[c], pods.gpus[c] * pods.gpu_milli[c]
    if policy == Policy.DOT_PROD:
        # dot_product_score.go:64 to 99: room and need as vectors of CPU and GPUs, each of the largest node's.
        product = (state.cpu[n] / MOST_CPU_MILLI) * (cpu / MOST_CPU_MILLI)
        product += (state.total[n] / MOST_GPU_MILLI) * (asked / MOST_GPU_MILLI)
        return int(100.0 * (1 - product / 2.0))
    if policy == Policy.BEST_FIT:
        # best_fit_score.go:66 to 96.
        left = (state.cpu[n] - cpu) / MOST_CPU_MILLI * 0.5
        left += (state.total[n] - asked) / MOST_GPU_MILLI * 0.5
        return int((1.0 - left) * 100.0)
    if pods.gpus[c] == 0:
        return 0
    if policy == Policy.CLUSTERING:
        return _clustering(state.sorts[n], state.total[n], 0 if _is_share(pods, c) else pods.gpus[c])
    return _packing(state.free[n], state.idle[n], problem.nodes.gpus[n], pods, c)


@njit(cache=True, nogil=True)
def _clustering(sorts: Ints, total: int, sort: int) -> int:
    # gpu_clustering_score.go:40 to 52: pods of one sort together.
    score, kinds = int(25 * (8000 - total) // 8000), 0
    for one in sorts:
        kinds += one > 0
    if sorts[sort] > 0:
        return score + (75 if kinds == 1 else 50)
    return score + (25 if kinds == 0 else 0)


@njit(cache=True, nogil=True)
def _packing(free: Ints, idle: int, gpus: int, pods: PodArrays, c: int) -> int:
    # gpu_packing_score.go:71 to 117: shared GPUs first, then idle ones of nodes in use, then idle nodes.
    if idle == gpus:
        return max(33 - idle, idle)
    if not _is_share(pods, c):
        return max(50 - int(pods.gpus[c]), 33)
    left = int(free[_tightest(free, gpus, pods.gpu_milli[c])])
    if left == MILLI:
        return 49
    return max(100 - (left * 100 // 1000) // 10, 50)


@njit(cache=True, nogil=True)
def fragment(cpu: int, free: Ints, gpus: int, model: int, typical: TypicalArrays, scratch: Ints) -> float:
    """Return how much of a node's free GPUs, in thousandths, the typical pods cannot use, weighted by popularity.

    ``NodeGpuShareFragAmountScore`` (frag.go:147 to 182 and 556 to 582): all that is free for a pod that does not fit,
    and what is free of GPUs with too little for one that does. Sums are in the authors' order, since scores are cut to
    whole numbers.

    Parameters
    ----------
    scratch
        Shape ``(2, sizes)``.
    """
    total = 0
    for i in range(gpus):
        total += free[i]
    if total == 0:
        return 0.0
    enough, rest = scratch[0], scratch[1]
    for s in range(len(typical.sizes)):
        enough[s] = rest[s] = 0
        for i in range(gpus):
            if free[i] >= typical.sizes[s]:
                enough[s] += 1
            else:
                rest[s] += free[i]
    lacks_both = lacks_gpu = lacks_cpu = no_gpu = no_gpu_lacks_cpu = no_access = 0.0
    for t in range(len(typical.share)):
        share, size, fits = typical.share[t], typical.size[t], cpu >= typical.cpu_milli[t]
        if size < 0:
            if fits:
                no_gpu += share * total
            else:
                no_gpu_lacks_cpu += share * total
        elif not (typical.models[t] >> model) & 1:
            no_access += share * total
        elif enough[size] >= typical.gpus[t]:
            if fits:
                lacks_gpu += share * rest[size]
            else:
                lacks_cpu += share * total
        elif fits:
            lacks_gpu += share * total
        else:
            lacks_both += share * total
    return lacks_both + lacks_gpu + lacks_cpu + no_gpu + no_gpu_lacks_cpu + no_access


@njit(cache=True, nogil=True)
def _cost(problem: Problem, cpu: int, free: Ints, n: int, scratch: Ints) -> float:
    """Return a node's fragments, less in our policies what its GPUs' gaps are worth."""
    nodes, prices = problem.nodes, problem.prices
    amount = fragment(cpu, free, nodes.gpus[n], nodes.model[n], problem.typical, scratch)
    if problem.policy > Policy.FGD:
        for i in range(nodes.gpus[n]):
            amount -= PRICES * prices.gap[nodes.kind[n], free[i] // 10]
    return amount


@njit(cache=True, nogil=True)
def _descent(
    problem: Problem, state: State, c: int, n: int, before: float, scratch: Ints, row: Ints
) -> tuple[int, int]:
    """Return the score of the best way to place a pod on a node, and the GPU that has its share.

    Fragments fall most, or rise least: fgd_score.go:62 to 85.
    """
    policy, pods, gpus = problem.policy, problem.pods, problem.nodes.gpus[n]
    cpu = state.cpu[n] - pods.cpu_milli[c]
    row[:] = state.free[n]
    if not _is_share(pods, c):
        _take_whole(row, gpus, pods.gpus[c])
        change = _cost(problem, cpu, row, n, scratch) - before
        return _rounded(problem, change, cpu, state.total[n], c, n), NO_DEVICE
    best, found, milli = 0, NO_DEVICE, pods.gpu_milli[c]
    for i in range(gpus):
        if row[i] < milli or _is_repeated(row, i):
            continue
        row[i] -= milli
        change = _cost(problem, cpu, row, n, scratch) - before
        if policy > Policy.FGD:
            change += DEVICE_LEFT * row[i]
        row[i] += milli
        score = _rounded(problem, change, cpu, state.total[n], c, n)
        if found == NO_DEVICE or score > best:
            best, found = score, i
        if policy == Policy.STOWAGE_FIRST_FIT:
            # Kubernetes' allocator takes the first device that fits.
            break
    return best, found


@njit(cache=True, nogil=True)
def _is_repeated(row: Ints, i: int) -> bool:
    for other in range(i):  # noqa: SIM110 - compiled
        if row[other] == row[i]:
            return True
    return False


@njit(cache=True, nogil=True)
def _rounded(problem: Problem, change: float, cpu: int, total: int, c: int, n: int) -> int:
    """Return the score of a change in fragments: FGD's own, or ours, the cheaper the higher."""
    if problem.policy == Policy.FGD:
        return int(1.0 / (1.0 + np.exp(change / 1000.0)) * 100.0)
    pods, prices, kind = problem.pods, problem.prices, problem.nodes.kind[n]
    cost = change + PRICES * (prices.cpu[kind] * pods.cpu_milli[c] + prices.memory[kind] * pods.memory_mib[c])
    cost += CPU_LEFT * cpu / MOST_CPU_MILLI
    cost += GPU_LEFT * (total - pods.gpus[c] * pods.gpu_milli[c]) / MOST_GPU_MILLI
    return -int(np.floor(cost / ROUNDED_TO + 0.5))
