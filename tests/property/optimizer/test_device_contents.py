"""Which pods can be on a node together, and in what order they come, against every order."""

from collections import Counter

import pytest
from device_fleets import decoded, random_fleet
from device_oracle import NodeDevices, replay, some_order

from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.search.bins import Arranger, make_bins


def arranger_of(packing: Packing) -> Arranger:
    bins = make_bins(packing.problem)
    assert bins is not None
    return Arranger(packing.problem, bins)


@pytest.mark.parametrize("block", range(4))
def test_an_order_is_found_that_first_fit_follows_wherever_there_is_one(block: int) -> None:
    """What the search says fits the scheduler must find room for; and little that fits may stay unseen."""
    seen: Counter[str] = Counter()
    for seed in range(100 * block, 100 * block + 100):
        snapshot = decoded(random_fleet(seed))
        packing = reduce_snapshot(snapshot)
        if packing.bins is None:
            continue
        arranger = arranger_of(packing)
        for node, one in enumerate(snapshot.nodes):
            layout = snapshot.device_layouts[one.device_layout]
            asking = [item for item, kind in enumerate(packing.kind_of) if kind.requests and node in kind.eligible]
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
