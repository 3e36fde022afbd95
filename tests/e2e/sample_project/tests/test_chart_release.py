"""The chart as it would be installed."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def release(stowage_release):
    """Put the scheduler there once, for all tests of this file."""
    return stowage_release("deterministic")


@pytest.mark.parametrize("attempt", [1, 2])
def test_the_same_input_gives_the_same_placement(attempt, stowage_nodes, stowage_apply, stowage_placements):
    """The deterministic profile breaks ties by name, in every run."""
    names = stowage_nodes("{count: 2, cpu: 2, memory: 4Gi, zones: [a, b]}")

    stowage_apply(*(pod(f"pod-{number}") for number in range(5)))

    assert names == ["node-0", "node-1"]
    assert stowage_placements() == {
        "pod-0": "node-0",
        "pod-1": "node-1",
        "pod-2": "node-0",
        "pod-3": "node-1",
        "pod-4": None,
    }


def pod(name):
    """Return a pod of one core."""
    container = {"name": "c", "image": "busybox", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}
