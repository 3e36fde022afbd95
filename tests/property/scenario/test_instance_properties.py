from hypothesis import given
from hypothesis import strategies as st

from stowage_testbed.amounts.resources import Resources
from stowage_testbed.scenario.instances import (
    CPU_MILLI_RANGE,
    MEMORY_BYTES_RANGE,
    SIZE_RANGE,
    generate,
)

seeds = st.integers(0, 2**63 - 1)
parameters = st.tuples(
    seeds,
    st.integers(1, 16),
    st.integers(1, 8),
    st.sampled_from([1, 2, 4]),
    st.sampled_from([90, 95, 100, 105]),
)


@given(parameters)
def test_an_instance_has_the_pods_that_were_asked_for_and_room_by_usage(
    drawn: tuple[int, int, int, int, int],
) -> None:
    """ceil(ceil(demand / usage) / nodes), and never less than the largest pod."""
    seed, nodes, pods_per_node, priorities, percent = drawn
    asked = (seed, nodes, pods_per_node, priorities, percent / 100)
    instance = generate(*asked)
    sets = instance.workload

    assert instance == generate(*asked)
    # The last ReplicaSet is cut to what is left.
    assert sum(s.replicas for s in sets) == nodes * pods_per_node
    for s in sets:
        assert SIZE_RANGE[0] <= s.replicas <= SIZE_RANGE[1]
        assert CPU_MILLI_RANGE[0] <= s.requests["cpu"] <= CPU_MILLI_RANGE[1]
        assert MEMORY_BYTES_RANGE[0] <= s.requests["memory"] <= MEMORY_BYTES_RANGE[1]
        assert 1 <= s.priority <= priorities
    for resource, capacity in instance.node.items():
        demand = sum(s.replicas * s.requests[resource] for s in sets)
        total = -(-demand * 100 // percent)
        largest = max(s.requests[resource] for s in sets)
        assert capacity == max(largest, -(-total // nodes))
        assert capacity * nodes * percent >= demand * 100


@given(seeds)
def test_usage_and_priorities_leave_the_pods_alone(seed: int) -> None:
    """Each draw has a stream of its own, so that one parameter can be varied alone."""

    def sizes(priorities: int, usage: float) -> list[tuple[int, Resources]]:
        drawn = generate(seed, 4, 4, priorities, usage).workload
        return [(one.replicas, one.requests) for one in drawn]

    assert sizes(1, 0.9) == sizes(4, 1.05)
