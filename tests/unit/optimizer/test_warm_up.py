"""What solves find compiled."""

from typing import Any, cast

import numpy as np
import pytest
from device_builder import DeviceBuilder, shared
from device_fleets import decoded

from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.search.device_state import make_bins
from stowage_optimizer.search.exploration import PLACING, explore
from stowage_optimizer.search.placement import enter, nothing_frozen
from stowage_optimizer.search.search_arrays import NARROW, make_arrays
from stowage_optimizer.search.state import PLACED, make_state
from stowage_optimizer.search.warmup import warm_up_devices


@pytest.mark.parametrize("resources", [0, NARROW, 2 * NARROW])
def test_devices_are_warm_for_any_number_of_resources(resources: int) -> None:
    """Compiling takes a minute, which the first solve about devices would spend instead of searching."""
    warm_up_devices()
    known = len(cast("Any", explore).signatures)
    builder = DeviceBuilder().node("a", shared("gpu-0")).request("half", (1, {"gpu": {"units": 50}})).pod("new", "half")
    for number in range(resources):
        builder.message.nodes[0].allocatable.extended[f"example.com/{number}"] = 1
        builder.message.pod_classes[0].requests.extended[f"example.com/{number}"] = 1
    problem = reduce_snapshot(decoded(builder.message)).problem
    arrays, bins = make_arrays(problem, strict=True), make_bins(problem)
    state = make_state(arrays, problem.tiers, seed=0)
    enter(np.full(1, -1, np.int32), 0, nothing_frozen(arrays), arrays, state, bins)
    state.goal[PLACED] = 1

    explore(100, 0, PLACING, 1.0, 1.0, arrays, state, bins)

    assert state.best.tolist() == [0]
    assert len(cast("Any", explore).signatures) == known
