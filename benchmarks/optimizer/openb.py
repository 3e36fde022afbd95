"""Fleets of a real GPU cluster: the nodes and pods of the OpenB trace.

Alibaba published it with "Beware of Fragmentation" (Weng et al., USENIX ATC 2023). The
files are not part of Stowage: the folder that has them is an argument.
"""

from __future__ import annotations

import csv
import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.optimizer.fleet import NOWHERE, Fleet
from stowage_testbed.base.errors import StowageError

NODES = "openb_node_list_all_node.csv"
PODS_A_NODE = 110
PRIORITY = {"LS": 3, "Guaranteed": 2, "Burstable": 1, "BE": 0}
"""By class of service in the trace; pods of lists that name none are all of one."""

Row = dict[str, str]


@dataclass(frozen=True, slots=True)
class _Amounts:
    """What a node has, or a pod asks for."""

    cpu_milli: int
    memory_mib: int
    gpu_milli: int

    def row(self, pods: int) -> list[int]:
        return [self.cpu_milli, self.memory_mib, self.gpu_milli, pods]


@dataclass(frozen=True, slots=True)
class _NodeKind:
    amounts: _Amounts
    model: str


@dataclass(frozen=True, slots=True)
class _PodClass:
    amounts: _Amounts
    models: tuple[str, ...]
    priority: int

    def suits(self, kind: _NodeKind) -> bool:
        return not self.models or kind.model in self.models


def read_fleet(folder: Path, pods: str, nodes: int, fill: float, seed: int) -> Fleet:
    """Return a fleet of the trace whose pods all wait."""
    draw = random.Random(seed)  # noqa: S311 - not for secrets
    every = [_node_kind(row) for row in _read(folder / NODES)]
    chosen = draw.sample(every, nodes) if nodes < len(every) else every
    listed = [_pod_class(row) for row in _read(folder / f"openb_pod_list_{pods}.csv")]
    draw.shuffle(listed)
    members = _drawn(listed, chosen, fill)
    kinds = {kind: number for number, kind in enumerate(dict.fromkeys(chosen))}
    classes = {one: number for number, one in enumerate(dict.fromkeys(members))}
    return Fleet(
        name=f"openb-{pods}-{nodes}-{fill:.2f}-{seed}",
        room=np.array([kind.amounts.row(PODS_A_NODE) for kind in kinds]),
        kind=np.array([kinds[kind] for kind in chosen]),
        need=np.array([one.amounts.row(1) for one in classes]),
        priority=np.array([one.priority for one in classes]),
        suits=np.array([[one.suits(kind) for kind in kinds] for one in classes]),
        class_of=np.array([classes[one] for one in members]),
        home=np.full(len(members), NOWHERE),
    )


def _drawn(
    listed: list[_PodClass], nodes: list[_NodeKind], fill: float
) -> list[_PodClass]:
    """Return pods until they ask for ``fill``; a short list begins again."""
    total = [node.amounts for node in nodes]
    most_cpu = fill * sum(one.cpu_milli for one in total)
    most_gpu = fill * sum(one.gpu_milli for one in total)
    members: list[_PodClass] = []
    cpu_milli = gpu_milli = 0
    while cpu_milli < most_cpu and (not most_gpu or gpu_milli < most_gpu):
        members.append(listed[len(members) % len(listed)])
        cpu_milli += members[-1].amounts.cpu_milli
        gpu_milli += members[-1].amounts.gpu_milli
    return members


def _node_kind(row: Row) -> _NodeKind:
    gpu_milli = 1000 * int(row["gpu"])
    room = _Amounts(int(row["cpu_milli"]), int(row["memory_mib"]), gpu_milli)
    return _NodeKind(room, row["model"])


def _pod_class(row: Row) -> _PodClass:
    gpu_milli = int(row["num_gpu"]) * int(row["gpu_milli"] or 0)
    need = _Amounts(int(row["cpu_milli"]), int(row["memory_mib"]), gpu_milli)
    spec = row.get("gpu_spec") or ""
    models = tuple(spec.split("|")) if spec else ()
    return _PodClass(need, models, PRIORITY.get(row.get("qos") or "", 0))


def _read(path: Path) -> list[Row]:
    try:
        with path.open(newline="") as file:
            return list(csv.DictReader(file))
    except OSError as error:
        raise StowageError(
            f"cannot read {path} ({error.strerror}): give the folder of the OpenB "
            "trace's CSV files, or none to measure made fleets only"
        ) from None
