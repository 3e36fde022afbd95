"""Where the shop's pods go, whoever places them."""

import pytest

ARMS = ["default", "stowage"]

CACHE = """
apiVersion: v1
kind: Pod
metadata: {name: cache}
spec:
  nodeSelector: {disk: ssd}
  containers:
    - {name: cache, image: cache:1.0, resources: {requests: {cpu: 500m, memory: 1Gi}}}
"""
SETTINGS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}


@pytest.mark.parametrize("arm", ARMS)
def test_every_replica_has_a_node(arm, stowage_arm, stowage_nodes, stowage_apply, stowage_placements):
    """Three nodes of two cores have room for three pods of one."""
    stowage_nodes("{count: 3, cpu: 2, memory: 4Gi}")
    stowage_arm(arm)

    deployment, budget = stowage_apply("web/shop.yaml")

    nodes = stowage_placements()
    assert (deployment["kind"], budget["kind"]) == ("Deployment", "PodDisruptionBudget")
    assert len(nodes) == 3
    assert set(nodes.values()) <= {"node-0", "node-1", "node-2"}


def test_the_cache_waits_for_a_fast_disk(stowage_arm, stowage_nodes, stowage_apply, stowage_placements):
    """It is not placed where it would be slow, and has its place once there is one."""
    stowage_nodes("{prefix: slow, cpu: 4, memory: 8Gi}")
    stowage_arm("default")

    stowage_apply(CACHE)
    assert stowage_placements() == {"cache": None}

    stowage_nodes("{prefix: fast, cpu: 4, memory: 8Gi, labels: {disk: ssd}}")
    stowage_apply(SETTINGS)
    assert stowage_placements(placed=1) == {"cache": "fast-0"}
