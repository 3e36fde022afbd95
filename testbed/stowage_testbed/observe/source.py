"""What is watched: a kind of object and its path in the API."""

from __future__ import annotations

from dataclasses import dataclass

from stowage_testbed.api_client import path_of


@dataclass(frozen=True, slots=True)
class Source:
    """One kind of object, and the path of its list."""

    kind: str
    path: str


def source_of(kind: str, namespace: str = "") -> Source:
    """Return the objects of a kind, of a namespace if one is given."""
    return Source(kind, path_of(kind, namespace))


PODS = source_of("Pod")
NODES = source_of("Node")
PACKING_PLANS = source_of("PackingPlan")
PACKING_POLICIES = source_of("PackingPolicy")
RESERVATIONS = source_of("Reservation")
BUDGETS = source_of("PodDisruptionBudget")
REPLICA_SETS = source_of("ReplicaSet")
STATEFUL_SETS = source_of("StatefulSet")
DEPLOYMENTS = source_of("Deployment")
QUOTAS = source_of("ResourceQuota")
LIMIT_RANGES = source_of("LimitRange")
SERVICES = source_of("Service")
AUTOSCALERS = source_of("HorizontalPodAutoscaler")

CORE_SOURCES = (
    PODS, NODES, *map(source_of, ("Event", "Namespace", "ServiceAccount")),
)  # fmt: skip
"""Sources that every cluster has from its start."""

OBJECT_SOURCES = {
    source.kind: source
    for source in (
        AUTOSCALERS, BUDGETS, LIMIT_RANGES, PACKING_PLANS, PACKING_POLICIES, PODS,
        QUOTAS, RESERVATIONS, SERVICES,
    )
}  # fmt: skip
"""Where the objects of scenarios are watched, by kind."""
