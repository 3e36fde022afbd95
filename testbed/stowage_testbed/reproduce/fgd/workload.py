"""Nodes and pods of the trace as arrays, and the order in which the published evaluation has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowage_testbed.base.errors import InputError
from stowage_testbed.reproduce.fgd.go_random import GoRandom
from stowage_testbed.reproduce.fgd.trace import TraceNode, TracePod

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MILLI = 1000
MOST_GPUS = 8
"""Of a node."""

TYPICAL_PERCENT = 95
"""So many of the pods are of the classes that FGD calls typical (`GetTypicalPods`, frag.go:381)."""

MOST_LOAD = 1.3
"""What all pods ask for, as a share of the GPUs."""

FIRST_SEED, SEEDS = 42, 10
"""Of the published runs."""


class NodeArrays(NamedTuple):
    """By node: shape ``(nodes,)``; ``model`` and ``kind`` are numbers of `Fleet.models` and `Fleet.kinds`."""

    cpu_milli: Ints
    memory_mib: Ints
    gpus: Ints
    model: Ints
    kind: Ints


class PodArrays(NamedTuple):
    """By class of pods: shape ``(classes,)``; ``models`` has a bit for each model that suits."""

    cpu_milli: Ints
    memory_mib: Ints
    gpus: Ints
    gpu_milli: Ints
    models: Ints


class TypicalArrays(NamedTuple):
    """The classes of pods that fragmentation is measured by: shape ``(classes,)``.

    ``share`` is their popularity; ``size`` is the place of what they take of a GPU in ``sizes``, negative without one.
    """

    cpu_milli: Ints
    size: Ints
    gpus: Ints
    models: Ints
    share: Floats
    sizes: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Fleet:
    """Nodes with GPUs, in the order of their names; nodes of one kind have equal room and one model."""

    models: tuple[str, ...]
    kinds: tuple[tuple[int, int, int, int], ...]
    nodes: NodeArrays

    @classmethod
    def of(cls, nodes: Iterable[TraceNode]) -> Fleet:
        """Return the fleet of these nodes."""
        ordered = sorted(nodes, key=lambda one: one.name)
        models = tuple(sorted({one.model for one in ordered}))
        rows = [(one.cpu_milli, one.memory_mib, one.gpus, models.index(one.model)) for one in ordered]
        if not rows or max(row[2] for row in rows) > MOST_GPUS:
            raise InputError(f"the trace must have nodes, of at most {MOST_GPUS} GPUs each")
        kinds = tuple(sorted(set(rows)))
        place = {kind: number for number, kind in enumerate(kinds)}
        columns = np.array([(*row, place[row]) for row in rows], np.int64).T
        return cls(models, kinds, NodeArrays(*map(np.ascontiguousarray, columns)))

    @property
    def gpu_milli(self) -> int:
        """Return what all GPUs have."""
        return MILLI * int(self.nodes.gpus.sum())

    def ordered(self, rank: Sequence[int]) -> NodeArrays:
        """Return the nodes by rank; of equal scores the first wins."""
        place = np.argsort(np.array(rank, np.int64))
        return NodeArrays(*(np.ascontiguousarray(column[place]) for column in self.nodes))


@dataclass(frozen=True, slots=True, eq=False)
class PodList:
    """The pods of a list by name: the class of each, and what a pod of each class needs."""

    name: str
    class_of: Ints
    pods: PodArrays
    specs: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, name: str, pods: Iterable[TracePod], fleet: Fleet) -> PodList:
        """Return the list of these pods."""
        keys = [
            (one.cpu_milli, one.memory_mib, one.gpus, one.gpu_milli, one.models if one.gpus else ())
            for one in sorted(pods, key=lambda one: one.name)
        ]
        if not any(gpus * milli for _, _, gpus, milli, _ in keys):
            raise InputError(f"no pod of the list {name} asks for a GPU, so that no load would ever be reached")
        classes = sorted(set(keys))
        place = {key: number for number, key in enumerate(classes)}
        amounts = np.array([key[:4] for key in classes], np.int64).T
        masks = np.array([_mask(models, fleet.models) for *_, models in classes], np.int64)
        return cls(
            name=name,
            class_of=np.array([place[key] for key in keys], np.int64),
            pods=PodArrays(*map(np.ascontiguousarray, (*amounts, masks))),
            specs=tuple(models for *_, models in classes),
        )

    @property
    def gpu_milli(self) -> Ints:
        """Return what a pod of each class takes of all its GPUs."""
        return self.pods.gpus * self.pods.gpu_milli

    @property
    def count(self) -> Ints:
        """Return how many pods each class has."""
        return np.bincount(self.class_of, minlength=len(self.specs))

    def typical(self, percent: int) -> TypicalArrays:
        """Return the most frequent classes, without their memory, that ``percent`` of the pods belong to."""
        counts = Counter[tuple[int, int, int, str, int]]()
        columns = zip(*(one.tolist() for one in self.pods), self.specs, self.count.tolist(), strict=True)
        for cpu, _, gpus, milli, mask, spec, count in columns:
            counts[cpu, milli, gpus, "|".join(spec), mask] += count
        total, reached, chosen = float(len(self.class_of)), 0.0, list[tuple[int, int, int, int]]()
        shares = list[float]()
        for (cpu, milli, gpus, _, mask), count in sorted(counts.items(), key=lambda one: one[::-1], reverse=True):
            if reached >= percent * total / 100.0:
                break
            reached += count
            chosen.append((cpu, milli, gpus, mask))
            shares.append(count / total)
        share = np.array(shares)
        if len(chosen) < len(counts):
            share = share / (reached / total)
        cpu, milli, gpus, mask = np.array(chosen, np.int64).T
        sizes = np.unique(milli[milli > 0])
        size = np.where(milli > 0, np.searchsorted(sizes, milli), -1)
        return TypicalArrays(*map(np.ascontiguousarray, (cpu, size, gpus, mask, share, sizes)))


def _mask(models: tuple[str, ...], known: tuple[str, ...]) -> int:
    if not models:
        return (1 << len(known)) - 1
    return sum(1 << known.index(one) for one in set(models) if one in known)


def arrivals(pods: PodList, fleet: Fleet, seed: int) -> tuple[Ints, NodeArrays]:
    """Return the classes of the pods as they arrive, and the nodes in the order in which ties go to them.

    The list is shuffled. Pods are then drawn and added, or taken away if they ask for too much, until they ask for
    `MOST_LOAD` of the GPUs (simulator.go:850 and 1105 to 1140). Nodes get names at random (simulator.go:481).
    """
    draw = GoRandom(seed)
    draw.int63()  # a line of the simulator's log
    number, most = len(pods.class_of), MOST_LOAD * fleet.gpu_milli
    one_gpu, whole = (need[pods.class_of].tolist() for need in (pods.pods.gpu_milli, pods.gpu_milli))
    order = list(range(number))
    draw.shuffle(order)
    asked = sum(whole)
    if asked > most:
        while asked > most:
            asked -= whole[order.pop(draw.below(len(order)))]
    else:
        # What is compared is a pod's share of one GPU, as there.
        while asked + one_gpu[pod := draw.below(number)] <= most:
            asked += whole[pod]
            order.append(pod)
    return pods.class_of[order], fleet.ordered(draw.permutation(len(fleet.nodes.gpus)))
