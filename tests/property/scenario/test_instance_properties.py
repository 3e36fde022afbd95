from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from stowage_testbed.amounts.resources import Resources
from stowage_testbed.scenario.instances import (
    CPU_MILLI_RANGE,
    MEMORY_BYTES_RANGE,
    SIZE_RANGE,
    Instance,
    generate,
)

USAGES = (0.90, 0.95, 1.00, 1.05)

parameters = st.tuples(
    st.integers(0, 2**63 - 1),
    st.integers(1, 16),
    st.integers(1, 8),
    st.sampled_from([1, 2, 4]),
    st.sampled_from(USAGES),
)
Parameters = tuple[int, int, int, int, float]


@given(parameters)
def test_the_replica_sets_hold_exactly_the_pods_that_were_asked_for(
    given_parameters: Parameters,
) -> None:
    """Nodes times pods per node; the last ReplicaSet is cut to what is left."""
    _, nodes, pods_per_node, priorities, _ = given_parameters
    sets = generate(*given_parameters).workload

    assert sum(s.replicas for s in sets) == nodes * pods_per_node
    for s in sets:
        assert SIZE_RANGE[0] <= s.replicas <= SIZE_RANGE[1]
        assert CPU_MILLI_RANGE[0] <= s.requests["cpu"] <= CPU_MILLI_RANGE[1]
        assert MEMORY_BYTES_RANGE[0] <= s.requests["memory"] <= MEMORY_BYTES_RANGE[1]
        assert 1 <= s.priority <= priorities


@given(parameters)
def test_capacities_follow_from_demand_and_usage(given_parameters: Parameters) -> None:
    """ceil(ceil(demand / usage) / nodes), and never less than the largest pod."""
    _, nodes, _, _, usage = given_parameters
    instance = generate(*given_parameters)
    percent = round(usage * 100)

    for resource, capacity in instance.node.items():
        requests = [(s.replicas, s.requests[resource]) for s in instance.workload]
        demand = sum(size * request for size, request in requests)
        total = -(-demand * 100 // percent)
        largest = max(request for _, request in requests)
        assert capacity == max(largest, -(-total // nodes))
        assert capacity * nodes * percent >= demand * 100


@given(parameters)
def test_a_seed_decides_everything(given_parameters: Parameters) -> None:
    """Two machines, or two runs, must make the same instance."""
    assert generate(*given_parameters) == generate(*given_parameters)


@given(st.integers(0, 2**63 - 1))
def test_usage_and_priorities_leave_the_pods_alone(seed: int) -> None:
    """Each draw has a stream of its own, so that one parameter can be varied alone."""

    def sizes(instance: Instance) -> list[tuple[int, Resources]]:
        return [(s.replicas, s.requests) for s in instance.workload]

    first = generate(seed, 4, 4, 1, 0.9)
    second = generate(seed, 4, 4, 4, 1.05)

    assert sizes(first) == sizes(second)
    assert ceil(second.node["cpu"] / first.node["cpu"]) == 1
