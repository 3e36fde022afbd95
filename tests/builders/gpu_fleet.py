"""Small fleets of GPUs, classes of pods and a folder like the OpenB trace's, made by hand."""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from stowage_testbed.reproduce.fgd.simulation import PriceArrays
from stowage_testbed.reproduce.fgd.trace import TraceNode, TracePod
from stowage_testbed.reproduce.fgd.workload import Fleet, PodArrays, TypicalArrays

MEMORY_MIB = 262_144


def a_fleet(*nodes: tuple[int, int], model: str = "T4") -> Fleet:
    """Return nodes of so many cores and GPUs."""
    return Fleet.of(
        TraceNode(f"n{number}", 1000 * cores, MEMORY_MIB, gpus, model) for number, (cores, gpus) in enumerate(nodes)
    )


def a_pod(number: int, cores: float, gpus: int = 0, gpu_milli: int = 0, models: tuple[str, ...] = ()) -> TracePod:
    """Return a pod that needs little memory."""
    return TracePod(f"p{number}", int(1000 * cores), 1024, gpus, gpu_milli, models, "LS")


def classes(*needs: tuple[float, int, int]) -> PodArrays:
    """Return classes of so many cores, GPUs and thousandths of each; every model suits."""
    cores, gpus, milli = np.array(needs).T
    number = len(needs)
    whole = [
        (1000 * cores).astype(int),
        np.full(number, 1024),
        gpus.astype(int),
        milli.astype(int),
        np.ones(number, int),
    ]
    return PodArrays(*map(np.ascontiguousarray, whole))


def typical(*popular: tuple[float, float, int, int]) -> TypicalArrays:
    """Return typical pods: popularity, cores, GPUs and thousandths of each; the first model suits."""
    share, cores, gpus, milli = (np.ascontiguousarray(column) for column in np.array(popular, float).T)
    sizes = np.unique(milli[milli > 0]).astype(int)
    size = np.where(milli > 0, np.searchsorted(sizes, milli), -1)
    return TypicalArrays((1000 * cores).astype(int), size, gpus.astype(int), np.ones(len(share), int), share, sizes)


def free_prices(fleet: Fleet) -> PriceArrays:
    """Return prices at which nothing costs anything."""
    kinds = len(fleet.kinds)
    return PriceArrays(np.zeros((kinds, 101)), np.zeros(kinds), np.zeros(kinds))


LISTS = ("default", "gpushare40")


def write_trace(folder: Path, lists: Sequence[str] = LISTS) -> None:
    """Write a trace of 26 nodes with 104 GPUs of two models, 60 pods a list, and an allocation of FGD as published."""
    nodes = [(f"n{number:02}", 32_000, MEMORY_MIB, 4, ("V100", "T4")[number % 2]) for number in range(26)]
    _write(folder / "openb_node_list_gpu_node.csv", ("sn", "cpu_milli", "memory_mib", "gpu", "model"), nodes)
    columns = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "qos")
    for name in lists:
        pods = [
            (f"p{number:02}", 2000 + 1000 * (number % 3), 4096, *_need(number), "" if number % 7 else "T4|V100", "LS")
            for number in range(60)
        ]
        _write(folder / f"openb_pod_list_{name}.csv", columns, pods)
    loads = [str(load) for load in range(131)]
    rows = [
        (f"openb_pod_list_{name}", "06-FGD", "1.3", str(seed), "104", *(str(min(load, 90)) for load in range(131)))
        for name in lists
        for seed in (42, 43)
    ]
    _write(folder / "fgd_expected_allo.csv", ("workload", "sc_policy", "tune", "seed", "total_gpus", *loads), rows)


def _need(number: int) -> tuple[int, int]:
    return ((1, 300), (1, 1000), (1, 700), (0, 0), (2, 1000))[number % 5]


def _write(path: Path, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)
