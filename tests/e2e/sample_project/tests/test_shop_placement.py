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


@pytest.mark.parametrize("arm", ARMS)
def test_every_replica_has_a_node(arm, scheduler_arm, fake_nodes, apply, placements):
    """Three nodes of two cores have room for three pods of one."""
    fake_nodes("count=3,cpu=2,memory=4Gi")
    scheduler_arm(arm)

    deployment, budget = apply("web/shop.yaml")

    nodes = placements()
    assert (deployment["kind"], budget["kind"]) == ("Deployment", "PodDisruptionBudget")
    assert len(nodes) == 3
    assert set(nodes.values()) <= {"node-0", "node-1", "node-2"}


def test_the_cache_waits_for_a_fast_disk(scheduler_arm, fake_nodes, apply, placements):
    """It is not placed where it would be slow, and has its place once there is one."""
    fake_nodes("name=slow,cpu=4,memory=8Gi")
    scheduler_arm("default")

    apply(CACHE)
    assert placements() == {"cache": None}

    fake_nodes("name=fast,cpu=4,memory=8Gi,label.disk=ssd")
    apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}})
    assert placements(placed=1) == {"cache": "fast-0"}
