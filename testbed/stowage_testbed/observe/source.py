"""What is watched: a kind of object and its path in the API."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """One kind of object, cluster-wide."""

    kind: str
    path: str


PODS = Source("Pod", "/api/v1/pods")
NODES = Source("Node", "/api/v1/nodes")
EVENTS = Source("Event", "/api/v1/events")
PACKING_PLANS = Source("PackingPlan", "/apis/stowage.dev/v1alpha1/packingplans")
RESERVATIONS = Source("Reservation", "/apis/stowage.dev/v1alpha1/reservations")
BUDGETS = Source("PodDisruptionBudget", "/apis/policy/v1/poddisruptionbudgets")
REPLICA_SETS = Source("ReplicaSet", "/apis/apps/v1/replicasets")
STATEFUL_SETS = Source("StatefulSet", "/apis/apps/v1/statefulsets")
DEPLOYMENTS = Source("Deployment", "/apis/apps/v1/deployments")
QUOTAS = Source("ResourceQuota", "/api/v1/resourcequotas")
LIMIT_RANGES = Source("LimitRange", "/api/v1/limitranges")
SERVICES = Source("Service", "/api/v1/services")
AUTOSCALERS = Source(
    "HorizontalPodAutoscaler", "/apis/autoscaling/v2/horizontalpodautoscalers"
)
NAMESPACES = Source("Namespace", "/api/v1/namespaces")
SERVICE_ACCOUNTS = Source("ServiceAccount", "/api/v1/serviceaccounts")

CORE_SOURCES = (PODS, NODES, EVENTS, NAMESPACES, SERVICE_ACCOUNTS)
"""Sources that every cluster has from its start."""

OBJECT_SOURCES = {
    source.kind: source
    for source in (
        AUTOSCALERS,
        BUDGETS,
        LIMIT_RANGES,
        PACKING_PLANS,
        PODS,
        QUOTAS,
        RESERVATIONS,
        SERVICES,
    )
}
"""Where the objects of scenarios are watched, by kind."""
