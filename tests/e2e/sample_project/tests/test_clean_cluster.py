"""Tests leave the cluster as they found it, also if they forget half of it."""

import pytest
from kubernetes.client import CoreV1Api, SchedulingV1Api

PRIORITY = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "urgent"},
    "value": 1000,
}
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
SETTINGS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "shop"}}


@pytest.mark.parametrize("attempt", [1, 2])
def test_nothing_of_another_test_is_there(attempt, stowage_cluster, stowage_nodes, stowage_apply):
    """Both attempts bring the same names, and find none of them taken."""
    with stowage_cluster.api_client() as api:
        names = [node.metadata.name for node in CoreV1Api(api).list_node().items]
        assert not [name for name in names if name.startswith("node-")]
        there = [one.metadata.name for one in CoreV1Api(api).list_namespace().items]
        assert "shop" not in there
        classes = SchedulingV1Api(api).list_priority_class().items
        assert "urgent" not in [one.metadata.name for one in classes]

    stowage_nodes("{count: 2, cpu: 1, memory: 1Gi}")
    stowage_apply(SETTINGS, PRIORITY, NAMESPACE)
