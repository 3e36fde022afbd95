"""The checker of plans gives each pod the devices that Kubernetes would give it, in the order of the turns."""

from collections.abc import Callable, Sequence

import pytest
from device_builder import SLICES, WHOLE, DeviceBuilder, closed, partitions, plan_in_turns, shared, whole
from solving_in_process import finished_answer_to

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify import verify_plan
from stowage_optimizer.verify.violation import Violation

Arrival = tuple[str, str, Sequence[int]]


def units(amount: int) -> dict[str, dict[str, int]]:
    return {"gpu": {"units": amount}}


def part(kind: str) -> dict[str, dict[str, int]]:
    return {kind: WHOLE}


def two_gpus() -> DeviceBuilder:
    """Make two GPUs for pods of 60, 50, 40 and 50 units, which all fit, in some orders."""
    builder = DeviceBuilder().node("n", shared("gpu-0"), shared("gpu-1"))
    for amount in (40, 50, 60):
        builder.request(f"{amount}", (1, units(amount)))
    for name, amount in (("a", 60), ("b", 50), ("c", 40), ("d", 50)):
        builder.pod(name, f"{amount}")
    return builder


def slices() -> DeviceBuilder:
    """Cut a GPU into partitions for pods that ask for one or two slices."""
    builder = DeviceBuilder().node("n", *partitions(), counters=SLICES)
    for kind in ("4g", "2g", "1g"):
        builder.request(kind, (1, part(kind)))
    return builder.pod("small", "1g").pod("large", "2g").pod("other", "2g")


def half_taken() -> DeviceBuilder:
    """Let somebody's claim hold the second half of a GPU."""
    return slices().held("n", 2, WHOLE).pod("all", "4g")


def alternatives() -> DeviceBuilder:
    """Add pods that would rather have two slices than one, also such that need others beside."""
    builder = slices().request("2g-or-1g", (1, part("2g")), (1, part("1g")))
    return builder.pod("rather", "2g-or-1g").pod("with-1g", "2g-or-1g", "1g").pod("with-2g", "2g-or-1g", "2g", "1g")


def two_claims() -> DeviceBuilder:
    """Make pods of two requests, which may share a GPU, and of one request for two."""
    builder = DeviceBuilder().node("n", shared("gpu-0"), shared("gpu-1"))
    builder.request("40", (1, units(40))).request("2x40", (2, units(40)))
    return builder.pod("apart", "40", "40").pod("together", "2x40")


def one_is_closed() -> DeviceBuilder:
    """Make a node whose first GPU is unhealthy."""
    builder = DeviceBuilder().node("n", closed(shared("gpu-0")), shared("gpu-1")).request("50", (1, units(50)))
    return builder.pod("a", "50").pod("b", "50").pod("c", "50")


def two_nodes() -> DeviceBuilder:
    """Make two nodes of one GPU, which a pod holds."""
    builder = DeviceBuilder().node("m", whole("gpu-0")).node("n", whole("gpu-0")).request("gpu", (1, part("gpu")))
    builder.pod("a", "gpu", node="m", holds=[(0, WHOLE)])
    return builder.pod("b", "gpu", node="n", holds=[(0, WHOLE)])


def shares_a_partition() -> DeviceBuilder:
    """Let two pods share half of a GPU, which consumes its slices once."""
    half, rest = partitions()[1:3]
    half.shared = True
    half.capacity.clear()
    half.capacity["units"] = 100
    builder = DeviceBuilder().node("n", half, rest, *partitions()[3:], counters=SLICES)
    builder.request("50", (1, {"2g": {"units": 50}})).request("1g", (1, part("1g")))
    return builder.pod("a", "50").pod("b", "50").pod("c", "1g")


def exceeded_capacity() -> DeviceBuilder:
    """Let more of a device's memory be held than it has; of its units there are some left."""
    builder = DeviceBuilder().node("n", shared("gpu-0", units=100, memory=10)).request("50", (1, units(50)))
    return builder.held("n", 0, {"units": 20, "memory": 20}).pod("small", "50")


def overdrawn() -> DeviceBuilder:
    """Lose a slice after a partition of it was allocated: nothing more of the pool can be."""
    builder = slices()
    builder.message.device_layouts[0].counters["0/set/slice-0"] = 0
    return builder.held("n", 3, WHOLE)


RIGHT: list[tuple[Callable[[], DeviceBuilder], list[Arrival]]] = [
    (two_gpus, [("a", "n", [0]), ("c", "n", [0]), ("b", "n", [1]), ("d", "n", [1])]),
    (two_gpus, [("b", "n", [0]), ("d", "n", [0]), ("a", "n", [1]), ("c", "n", [1])]),
    (slices, [("large", "n", [1]), ("small", "n", [5])]),
    (slices, [("small", "n", [3]), ("large", "n", [2])]),
    (slices, [("large", "n", [1]), ("other", "n", [2])]),
    (half_taken, [("large", "n", [1])]),
    (half_taken, [("small", "n", [3])]),
    (alternatives, [("rather", "n", [1]), ("large", "n", [2])]),
    (alternatives, [("large", "n", [1]), ("small", "n", [5]), ("rather", "n", [6])]),
    (alternatives, [("with-1g", "n", [1, 5])]),
    # Two slices for the first request leave no room for the others: it falls back.
    (alternatives, [("with-2g", "n", [3, 2, 4])]),
    (two_claims, [("apart", "n", [0, 0])]),
    (two_claims, [("together", "n", [0, 1]), ("apart", "n", [0, 1])]),
    (one_is_closed, [("a", "n", [1]), ("b", "n", [1])]),
    (two_nodes, [("a", "n", [0]), ("b", "m", [0])]),
    (shares_a_partition, [("a", "n", [0]), ("b", "n", [0]), ("c", "n", [4])]),
]
"""Arrivals in turns, with the devices that Kubernetes gives them."""


def faults(builder: DeviceBuilder, *arrivals: Arrival, leaves: Sequence[str] = ()) -> list[Violation]:
    return broken(builder.message, plan_in_turns(builder.message, *arrivals, leaves=leaves))


def broken(snapshot: pb.Snapshot, plan: pb.Plan) -> list[Violation]:
    found = verify_plan(snapshot, plan, pb.POLICY_PAPER)
    return [one for one in found if one.rule not in ("tiers", "bounds", "not-better")]


@pytest.mark.parametrize(("made", "arrivals"), RIGHT)
def test_each_pod_gets_the_devices_that_the_scheduler_allocates(
    made: Callable[[], DeviceBuilder], arrivals: list[Arrival]
) -> None:
    """A plan that names others would end differently from what it says."""
    assert faults(made(), *arrivals) == []


@pytest.mark.parametrize(
    ("made", "arrivals", "told"),
    [
        pytest.param(
            two_gpus, [("c", "n", [0]), ("b", "n", [0]), ("a", "n", [1]), ("d", "n", [])],
            "d: on n, in turn 4: no devices are left for it", id="the same pods in an order in which they do not fit",
        ),
        pytest.param(
            two_gpus, [("a", "n", [1])], "a: on n: gets gpu-0, the plan says gpu-1", id="a device further on",
        ),
        pytest.param(
            two_gpus, [("a", "n", [])], "a: on n: gets gpu-0, the plan says none", id="no devices",
        ),
        pytest.param(
            two_gpus, [("a", "n", [7])], "a: on n: gets gpu-0, the plan says device 7", id="no such device",
        ),
        pytest.param(
            slices, [("small", "n", [3]), ("large", "n", [1])],
            "large: on n: gets 2g-2, the plan says 2g-0", id="a partition that overlaps",
        ),
        pytest.param(
            half_taken, [("all", "n", [0])],
            "all: on n, in turn 1: no devices are left for it", id="a device that overlaps with one that is held",
        ),
        pytest.param(
            half_taken, [("large", "n", [1]), ("small", "n", [3])],
            "small: on n, in turn 2: no devices are left for it", id="counters that are used up",
        ),
        pytest.param(
            alternatives, [("with-2g", "n", [1, 2])],
            "with-2g: on n: gets 1g-0, 2g-2, 1g-1, the plan says 2g-0, 2g-2", id="an alternative that cannot be",
        ),
        pytest.param(
            two_claims, [("together", "n", [0, 0])],
            "together: on n: gets gpu-0, gpu-1, the plan says gpu-0, gpu-0", id="a device twice for one request",
        ),
        pytest.param(
            one_is_closed, [("a", "n", [1]), ("b", "n", [1]), ("c", "n", [0])],
            "c: on n, in turn 3: no devices are left for it", id="a closed device",
        ),
        pytest.param(
            two_nodes, [("b", "m", [0])],
            "b: on m, in turn 1: no devices are left for it", id="a device whose pod stays",
        ),
        pytest.param(
            overdrawn, [("large", "n", [2])],
            "large: on n, in turn 1: no devices are left for it", id="another counter of the pool is overdrawn",
        ),
        pytest.param(
            exceeded_capacity, [("small", "n", [0])],
            "small: on n, in turn 1: no devices are left for it", id="another capacity of the device is exceeded",
        ),
    ],
)  # fmt: skip
def test_devices_that_a_pod_would_not_get_are_told(
    made: Callable[[], DeviceBuilder], arrivals: list[Arrival], told: str
) -> None:
    """Nobody can ask the scheduler for a certain device: what it takes follows from the order alone."""
    assert [str(one) for one in faults(made(), *arrivals)] == [f"devices: {told}"]


def test_devices_of_pods_that_leave_are_free_before_anybody_comes() -> None:
    """The plan's evictions and moves are carried out first on each node."""
    builder = two_nodes().pod("c", "gpu")

    assert faults(builder, ("c", "m", [0]), leaves=["a"]) == []


def _turn(turn: int, *devices: int) -> Callable[[pb.Plan], None]:
    def mutate(plan: pb.Plan) -> None:
        plan.placements[1].turn = turn
        plan.placements[1].devices[:] = devices

    return mutate


@pytest.mark.parametrize(
    ("mutate", "told"),
    [
        (_turn(0, 1), "b: asks for devices and comes to n without a turn"),
        (_turn(-1, 1), "b: asks for devices and comes to n without a turn"),
        (_turn(1, 1), "b: turn 1 is that of a too"),
        (lambda plan: plan.placements.add(pod_uid="plain", node="n", turn=9),
         "plain: has a turn or devices, but asks for none"),
        (lambda plan: plan.placements.add(pod_uid="plain", node="n", devices=[0]),
         "plain: has a turn or devices, but asks for none"),
    ],
)  # fmt: skip
def test_turns_are_for_pods_that_ask_for_devices_and_each_has_its_own(
    mutate: Callable[[pb.Plan], None], told: str
) -> None:
    """Without turns the order, and with it the devices, would be left to chance."""
    builder = two_gpus().pod("plain")
    plan = plan_in_turns(builder.message, ("a", "n", [0]), ("b", "n", [1]))
    mutate(plan)

    assert [str(one) for one in broken(builder.message, plan)] == [f"devices: {told}"]


def test_a_node_without_devices_takes_no_pod_that_asks_for_some() -> None:
    """Its layout is empty, or the pods were sent to a node that knows nothing of them."""
    builder = two_gpus()
    builder.cluster.node("plain")

    (one,) = faults(builder, ("a", "plain", []))

    assert str(one) == "devices: a: plain has no such devices"


def test_a_search_that_takes_too_long_is_told_not_waited_for() -> None:
    """Which devices come out of it is not known then, and no plan may rest on it."""
    devices = [shared(f"gpu-{at}") for at in range(24)]
    builder = DeviceBuilder().node("n", *devices).request("12x10", (12, units(10))).request("101", (1, units(101)))
    builder.pod("a", "12x10", "101")

    (one,) = faults(builder, ("a", "n", []))

    assert str(one) == "devices: a: on n, in turn 1: too hard to say which devices it gets"


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda s: s.device_layouts.append(s.device_layouts[0]), "layout-0: device layout appears 2 times"),
        (lambda s: s.device_requests.append(s.device_requests[0]), "40: device request appears 2 times"),
        (lambda s: s.pod_classes[0].device_requests.append("x"), "class-a: unknown device request x"),
        (lambda s: setattr(s.nodes[0], "device_layout", "x"), "n: unknown device layout"),
        (lambda s: s.device_holdings.add(node="n", device=2), "n: has no device 2, which somebody holds"),
        (lambda s: s.device_holdings.add(node="n", amounts={"units": -1}), "n: somebody holds a negative amount"),
        (lambda s: setattr(s.device_requests[0].first_available[0], "count", 0),
         "40: has a negative amount, or a count below 1"),
        (lambda s: s.device_layouts[0].devices[0].counters.update({"0/set/x": 1}),
         "layout-0: gpu-0 consumes a counter that the layout has not"),
        (lambda s: s.device_layouts[0].devices[1].capacity.update(units=-1), "layout-0: gpu-1 has a negative amount"),
    ],
)  # fmt: skip
def test_a_snapshot_whose_devices_make_no_sense_is_told(spoil: Callable[[pb.Snapshot], None], told: str) -> None:
    """Whatever a plan says of them would be judged by something that is not there."""
    snapshot = two_gpus().message
    spoil(snapshot)

    assert f"snapshot: {told}" in map(str, broken(snapshot, pb.Plan(snapshot_id=snapshot.id)))


def evicted_for(priority: int, *, room: bool) -> tuple[pb.Snapshot, pb.Plan]:
    """Return a plan that evicts a pod from a GPU for another one, where the next GPU has room or not."""
    builder = DeviceBuilder().node("n", shared("gpu-0"), shared("gpu-1")).request("70", (1, units(70)))
    builder.pod("low", "70", node="n", holds=[(0, {"units": 70})])
    if not room:
        builder.held("n", 1, {"units": 70})
    builder.pod("high", "70", priority=priority)
    snapshot = builder.message
    plan = plan_in_turns(snapshot, ("high", "n", [0]), leaves=["low"])
    for tier, placed, disruption in ((priority, 1, 0), (0, 1, 3))[priority == 0 :]:
        plan.tiers.add(priority=tier, placed_before=1 - bool(tier), placed=placed, upper_bound=2, disruption=disruption)
    return snapshot, plan


@pytest.mark.parametrize(
    ("room", "told"), [(True, ["policy: low: evicted for its own kind: it fits on n"]), (False, [])]
)
def test_a_pod_is_evicted_only_if_devices_would_be_left_for_it_nowhere(room: bool, told: list[str]) -> None:
    """Cores and memory are enough here either way: only devices tell whether it had to go."""
    snapshot, plan = evicted_for(1, room=room)

    found = verify_plan(snapshot, plan, pb.POLICY_STRICT)

    assert [str(one) for one in found] == told


@pytest.mark.parametrize("made", [overdrawn, exceeded_capacity])
def test_no_plan_has_pods_come_to_what_is_exceeded(made: Callable[[], DeviceBuilder]) -> None:
    """Kubernetes refuses them there, though all that they ask for is left."""
    plan = finished_answer_to(made().message, pb.SolveOptions(time_limit_s=1.0, workers=1)).plan

    assert [one.pod_uid for one in plan.placements] == []
