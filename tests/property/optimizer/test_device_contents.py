"""Which pods can be on a node together, and in what order they come, against every order."""

import random
from collections import Counter

import numpy as np
import pytest
from device_fleets import random_packings
from device_oracle import DeviceOracle, NodeDevices, replay, some_order

from stowage_optimizer.assignments.builder import NodeLoads
from stowage_optimizer.assignments.first_fit import filled
from stowage_optimizer.model.packing import Packing, as_assignment
from stowage_optimizer.search.compiling import compiled
from stowage_optimizer.search.device_choice import give_back
from stowage_optimizer.search.device_nodes import Arranger
from stowage_optimizer.search.device_state import EMPTY, LEFT, SearchBins, make_bins
from stowage_optimizer.search.exploration import PLACING, STABILISING, explore
from stowage_optimizer.search.placement import enter, nothing_frozen
from stowage_optimizer.search.repair import Repairer
from stowage_optimizer.search.search_arrays import make_arrays
from stowage_optimizer.search.state import NODE, PLACED, make_state


def arranger_of(packing: Packing) -> Arranger:
    bins = make_bins(packing.problem)
    assert bins is not None
    return Arranger(packing.problem, bins)


@pytest.mark.parametrize("block", range(4))
def test_an_order_is_found_that_first_fit_follows_wherever_there_is_one(block: int) -> None:
    """What the search says fits the scheduler must find room for; and little that fits may stay unseen."""
    seen: Counter[str] = Counter()
    for _, snapshot, packing in random_packings(range(100 * block, 100 * block + 100), running=False):
        arranger = arranger_of(packing)
        for node, one in enumerate(snapshot.nodes):
            layout = snapshot.device_layouts[one.device_layout]
            asking = [
                item
                for item, kind in enumerate(packing.kind_of)
                if kind.requests and node in kind.eligible and packing.current[item] is None
            ]
            requests = {item: snapshot.classes[packing.class_ids[item]].device_requests for item in asking}
            for length in range(1, len(asking) + 1):
                members = asking[:length]
                arrivals = arranger.arrivals(node, members)
                possible = some_order(snapshot, NodeDevices(layout), [requests[item] for item in members])
                if arrivals is None:
                    seen["missed" if possible else "impossible"] += 1
                    continue
                seen["found"] += 1
                assert sorted(item for item, _ in arrivals) == members
                order = [requests[item] for item, _ in arrivals]
                picks = replay(snapshot, NodeDevices(layout), order)
                assert picks is not None
                assert [tuple(device for device, _ in one) for one in picks] == [devices for _, devices in arrivals]
    assert seen["missed"] == 0, seen
    assert seen["found"] > 50
    assert seen["impossible"] > 50


def test_whatever_is_wanted_what_is_made_of_it_can_be_reached() -> None:
    """Search and bounds offer what knows little of devices, or nothing: only what can be carried out is published."""
    kept = 0
    for seed, snapshot, packing in random_packings(range(150), nodes=3, pods=7, tiers=2):
        oracle = DeviceOracle(snapshot, packing)
        draw = random.Random(seed)  # noqa: S311 - not for secrets
        for strict in (True, False):
            repairer = Repairer(packing.problem, strict=strict)
            for _ in range(4):
                wanted = [draw.choice([*kind.eligible, -1]) for kind in packing.kind_of]

                repaired = repairer.repair(np.array(wanted, np.int32))

                assert oracle.reachable(as_assignment(repaired)), (seed, wanted)
                kept += int((repaired == wanted).sum())
    assert kept > 1000


def test_whoever_waits_is_placed_wherever_there_is_room_and_an_order_is_known() -> None:
    """The first plan moves nobody: what it leaves out would be missing until the search is done."""
    placed = 0
    for seed, snapshot, packing in random_packings(range(150), nodes=3, pods=7, tiers=2):
        found = filled(packing, packing.current)

        assert DeviceOracle(snapshot, packing).reachable(found), seed
        loads = NodeLoads(packing)
        for item, node in enumerate(found):
            if node is not None:
                loads.add(item, node)
        for item, (home, node) in enumerate(zip(packing.current, found, strict=True)):
            assert home is None or node == home
            placed += home is None and node is not None
            if node is None:
                assert not [at for at in packing.kind_of[item].eligible if loads.leave_room_for(item, at)], (seed, item)
    assert placed > 100


@pytest.mark.parametrize("phase", [PLACING, STABILISING])
def test_the_search_gives_back_what_it_takes(phase: int) -> None:
    """A slot that is lost or won at each step would soon say anything."""
    for seed, _, packing in random_packings(range(40), nodes=4, pods=12, tiers=2):
        problem = packing.problem
        bins = make_bins(problem)
        assert bins is not None
        arrays = make_arrays(problem, strict=True)
        state = make_state(arrays, problem.tiers, seed)
        start = Repairer(problem, strict=True).repair(problem.home)
        enter(start, problem.tiers - 1, nothing_frozen(arrays), arrays, state, bins)
        state.goal[PLACED] = len(problem.home) + 1

        explore(500, problem.tiers - 1, phase, 0.5, 0.05, arrays, state, bins)

        for item in range(len(problem.home)):
            if (node := state.items[item, NODE]) >= 0:
                take_off(item, node, bins)
        assert (bins.room[LEFT] == bins.room[EMPTY]).all()


@compiled
def take_off(item: int, at: int, bins: SearchBins) -> None:
    give_back(item, at, bins)
