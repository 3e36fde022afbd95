"""What is watched: a kind of object and its path in the API."""

from dataclasses import dataclass

from stowage_testbed.api.kinds import Kind


@dataclass(frozen=True, slots=True)
class Source:
    """One kind of object, the path of its list, and a field selector, as in ``spec.nodeName=n1``; all without one."""

    kind: str
    path: str
    fields: str = ""


def source_of(kind: Kind) -> Source:
    """Return all objects of a kind that a cluster serves."""
    return Source(kind.key, kind.path())


PODS = Source("Pod", "/api/v1/pods")
NODES = Source("Node", "/api/v1/nodes")
PACKING_PLANS = Source("PackingPlan", "/apis/stowage.dev/v1alpha1/packingplans")
RESERVATIONS = Source("Reservation", "/apis/stowage.dev/v1alpha1/reservations")
BUDGETS = Source("PodDisruptionBudget", "/apis/policy/v1/poddisruptionbudgets")
REPLICA_SETS = Source("ReplicaSet", "/apis/apps/v1/replicasets")
STATEFUL_SETS = Source("StatefulSet", "/apis/apps/v1/statefulsets")
DEPLOYMENTS = Source("Deployment", "/apis/apps/v1/deployments")
DAEMON_SETS = Source("DaemonSet", "/apis/apps/v1/daemonsets")
JOBS = Source("Job", "/apis/batch/v1/jobs")
RESOURCE_SLICES = Source("ResourceSlice", "/apis/resource.k8s.io/v1/resourceslices")
DEVICE_CLASSES = Source("DeviceClass", "/apis/resource.k8s.io/v1/deviceclasses")
RESOURCE_CLAIMS = Source("ResourceClaim", "/apis/resource.k8s.io/v1/resourceclaims")
AUTOSCALERS = Source("HorizontalPodAutoscaler", "/apis/autoscaling/v2/horizontalpodautoscalers")

DEVICE_SOURCES = (RESOURCE_SLICES, DEVICE_CLASSES, RESOURCE_CLAIMS)
"""What devices and their allocations are read from."""

CORE_SOURCES = (
    PODS,
    NODES,
    Source("Event", "/api/v1/events"),
    Source("Namespace", "/api/v1/namespaces"),
    Source("ServiceAccount", "/api/v1/serviceaccounts"),
)
"""Sources that every cluster has from its start."""
