"""Prices and placements of the scheduler's plugin Devices, as the laboratory has them."""

import json

import numpy as np
import pytest
from device_scores import SCORES, make_cases
from gpu_fleet import a_fleet, a_pod

from stowage_testbed.reproduce.fgd.descent import descended_price
from stowage_testbed.reproduce.fgd.prices import price
from stowage_testbed.reproduce.fgd.workload import Fleet, PodList


def test_the_plugin_is_compared_with_the_score_as_it_is() -> None:
    """Go's tests read the file: without this one, the score could change here and stay there.

    If the score was meant to change, `python tests/builders/device_scores.py` writes the file anew.
    """
    cases, kept = make_cases(), json.loads(SCORES.read_text("utf-8"))

    for name in ("kinds", "nodes", "classes", "arrivals", "placed"):
        assert [one[name] for one in kept] == [one[name] for one in cases]
    for one, other in zip(kept, cases, strict=True):
        for name in ("cpu", "memory", "gap"):
            assert np.array(one["prices"][name]) == pytest.approx(np.array(other["prices"][name]), rel=1e-6, abs=1e-9)
        amounts = ([each["amount"] for each in case["fragments"]] for case in (one, other))
        assert next(amounts) == pytest.approx(next(amounts))


def _room_cost(pods: PodList, fleet: Fleet, *, exact: bool) -> float:
    """Return what all room of one kind of node costs in relation to what the pods do: the program's dual value."""
    found = price(pods, fleet) if exact else descended_price(pods, fleet)
    (cpu, memory, gpus, _), number = fleet.kinds[0], len(fleet.nodes.gpus)
    return float(number * (cpu * found.cpu[0] + memory * found.memory[0] + gpus * found.gap[0, 100])) / fleet.gpu_milli


@pytest.mark.parametrize(("milli", "cores"), [(500, 1), (600, 1), (1000, 8), (300, 16)])
def test_descended_prices_are_near_the_program_s_optimum(milli: int, cores: int) -> None:
    """Weak duality: they are never better than the program's own, and a descent that fails is far worse.

    The worst of these is 3.3 % above it.
    """
    fleet = a_fleet(*[(64, 5)] * 2)
    pods = PodList.of("list", [a_pod(number, cores, 1, milli) for number in range(20)], fleet)

    best, found = (_room_cost(pods, fleet, exact=exact) for exact in (True, False))

    assert best - 1e-9 <= found <= 1.05 * best
