"""Cases by which the scheduler's plugin Devices and the laboratory's score are compared: prices, fragments, placements.

``python tests/builders/device_scores.py`` writes the file that the plugin's own tests read.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from stowage_testbed.reproduce.fgd.descent import descended_price
from stowage_testbed.reproduce.fgd.simulation import Policy, Problem, fragment, simulate
from stowage_testbed.reproduce.fgd.trace import TraceNode, TracePod
from stowage_testbed.reproduce.fgd.workload import MOST_GPUS, Fleet, PodList

SCORES = Path(__file__).parents[2] / "scheduler/plugins/devices/testdata/scores.json"

SEEDS = (1, 2, 3)
MODELS = ("A10", "T4", "V100")
MILLI = (0, 250, 300, 500, 600, 810, 1000)
FRAGMENTS = 20


def make_cases() -> list[dict[str, Any]]:
    """Return one case a seed."""
    return [_case(np.random.default_rng(seed)) for seed in SEEDS]


def _case(draw: np.random.Generator) -> dict[str, Any]:
    fleet = Fleet.of(
        TraceNode(f"n{number:02}", 16_000 * int(draw.integers(1, 7)), 65_536, int(gpus), str(draw.choice(MODELS)))
        for number, gpus in enumerate(draw.choice((1, 2, 4, 8), 12))
    )
    pods = PodList.of("list", [_pod(draw, number) for number in range(60)], fleet)
    prices, typical, arriving = descended_price(pods, fleet), pods.typical(100), draw.permutation(pods.class_of)
    problem = Problem(int(Policy.STOWAGE_FIRST_FIT), pods.pods, fleet.nodes, typical, prices)
    needs = zip(*(one.tolist() for one in pods.pods), pods.count.tolist(), strict=True)
    nodes = zip(*(one.tolist() for one in fleet.nodes), strict=True)
    return {
        "models": len(fleet.models),
        "kinds": [list(one) for one in fleet.kinds],
        "nodes": [dict(zip(("cpu", "memory", "gpus", "model", "kind"), one, strict=True)) for one in nodes],
        "classes": [dict(zip(("cpu", "memory", "gpus", "milli", "models", "pods"), one, strict=True)) for one in needs],
        "prices": {"gap": prices.gap.tolist(), "cpu": prices.cpu.tolist(), "memory": prices.memory.tolist()},
        "fragments": [_fragment(draw, fleet, pods) for _ in range(FRAGMENTS)],
        "arrivals": arriving.tolist(),
        "placed": simulate(problem, arriving, 0).node.tolist(),
    }


def _pod(draw: np.random.Generator, number: int) -> TracePod:
    milli = int(draw.choice(MILLI))
    gpus = int(draw.choice((1, 1, 2, 4))) if milli == MILLI[-1] else int(milli > 0)
    models = tuple(str(one) for one in draw.choice(MODELS, int(draw.integers(0, 3)), replace=False))
    return TracePod(f"p{number:02}", 1000 * int(draw.integers(1, 12)), 2048, gpus, milli, models, "LS")


def _fragment(draw: np.random.Generator, fleet: Fleet, pods: PodList) -> dict[str, Any]:
    typical, scratch = pods.typical(100), np.zeros((2, len(MILLI)), np.int64)
    gpus, cpu, model = int(draw.integers(1, 9)), 1000 * int(draw.integers(0, 20)), int(draw.integers(len(fleet.models)))
    free = np.zeros(MOST_GPUS, np.int64)
    free[:gpus] = draw.choice((0, 190, 400, 500, 750, 1000), gpus)
    amount = fragment(cpu, free, gpus, model, typical, scratch)
    return {"cpu": cpu, "model": model, "free": free[:gpus].tolist(), "amount": float(amount)}


if __name__ == "__main__":
    lines = (json.dumps(one, separators=(",", ":")) for one in make_cases())
    SCORES.write_text("[" + ",\n".join(lines) + "]\n", "utf-8")
