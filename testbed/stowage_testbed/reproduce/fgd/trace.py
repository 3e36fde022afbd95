"""The OpenB trace as a folder of CSV files: nodes and pods of a production GPU cluster, and FGD's published allocation.

github.com/hkust-adsl/kubernetes-scheduler-simulator has nodes and pods in ``data/csv``. The allocation is
``experiments/analysis/expected_results/analysis_allo_discrete.csv`` there.
"""

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from stowage_testbed.base.errors import InputError

ALL_NODES, GPU_NODES = "openb_node_list_all_node.csv", "openb_node_list_gpu_node.csv"
POD_LIST = "openb_pod_list_"
PUBLISHED = ("fgd_expected_allo.csv", "analysis_allo_discrete.csv")

ItemT = TypeVar("ItemT")
Row = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TraceNode:
    """A node; ``model`` is that of its GPUs."""

    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int
    model: str


@dataclass(frozen=True, slots=True)
class TracePod:
    """A pod; it takes ``gpu_milli`` thousandths of each of ``gpus`` GPUs, of one of ``models`` if there are any."""

    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int
    gpu_milli: int
    models: tuple[str, ...]
    qos: str


@dataclass(frozen=True, slots=True)
class PublishedCurve:
    """Allocation in percent of all GPUs, by what the pods so far ask for in percent."""

    pods: str
    policy: str
    seed: int
    load: tuple[int, ...]
    allocation: tuple[float, ...]


def read_nodes(folder: Path, file: str) -> tuple[TraceNode, ...]:
    """Return the nodes of a file in its order; an `InputError` if it cannot be read."""
    return _read(folder / file, _node)


def read_pods(folder: Path, name: str) -> tuple[TracePod, ...]:
    """Return the pods of a list in its order; an `InputError` if it cannot be read."""
    return _read(folder / f"{POD_LIST}{name}.csv", _pod)


def pod_lists(folder: Path) -> tuple[str, ...]:
    """Return the names of the lists of pods, the whole trace's first."""
    names = (path.stem.removeprefix(POD_LIST) for path in folder.glob(f"{POD_LIST}*.csv"))
    return tuple(sorted(names, key=lambda name: (name != "default", len(name.rstrip("0123456789")), _size(name), name)))


def _size(name: str) -> int:
    return int(name[len(name.rstrip("0123456789")) :] or 0)


def read_published(folder: Path) -> tuple[PublishedCurve, ...]:
    """Return the published curves; none without their file."""
    there = [folder / file for file in PUBLISHED if (folder / file).is_file()]
    return _read(there[0], _curve) if there else ()


def _node(row: Row) -> TraceNode:
    return TraceNode(row["sn"], int(row["cpu_milli"]), int(row["memory_mib"]), int(row["gpu"]), row["model"])


def _pod(row: Row) -> TracePod:
    gpus = int(row["num_gpu"])
    return TracePod(
        name=row["name"],
        cpu_milli=int(row["cpu_milli"]),
        memory_mib=int(row["memory_mib"]),
        gpus=gpus,
        gpu_milli=int(row["gpu_milli"] or 0) if gpus else 0,
        models=tuple(filter(None, (row.get("gpu_spec") or "").split("|"))),
        qos=row.get("qos") or "",
    )


def _curve(row: Row) -> PublishedCurve:
    known = {int(load): float(percent) for load, percent in row.items() if load.isdigit() and percent}
    # 03-GpuClustering is Clustering in the paper.
    policy = row["sc_policy"].partition("-")[2].removeprefix("Gpu")
    pods = row["workload"].removeprefix(POD_LIST)
    return PublishedCurve(pods, policy, int(row["seed"]), tuple(known), tuple(known.values()))


def _read(path: Path, make: Callable[[Row], ItemT]) -> tuple[ItemT, ...]:
    found = list[ItemT]()
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            for row in reader:
                found.append(make(row))
    except OSError as error:
        raise InputError(
            f"cannot read {path} ({error.strerror}): name the folder with the CSV files of the OpenB trace"
        ) from None
    except KeyError as error:
        raise InputError(f"{path}:{reader.line_num}: has no column {error}, as the OpenB trace has") from None
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}:{reader.line_num}: is no line of the OpenB trace: {error}") from None
    return tuple(found)
