"""Which kinds of object are looked at, and what cannot be judged without each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind, where the API server lists it, and what is lost without it.

    Attributes
    ----------
    path
        Of the list of all namespaces.
    without
        What cannot be judged; empty for kinds without which there is no answer.
    """

    name: str
    api_version: str
    path: str
    without: str = ""


NODE = Kind("Node", "v1", "/api/v1/nodes")
POD = Kind("Pod", "v1", "/api/v1/pods")

FURTHER = (
    Kind(
        "PodDisruptionBudget", "policy/v1", "/apis/policy/v1/poddisruptionbudgets",
        "disruption budgets: a move may break one",
    ),
    Kind(
        "Namespace", "v1", "/api/v1/namespaces",
        "labels of namespaces: affinity terms that select namespaces by label",
    ),
    Kind(
        "PersistentVolumeClaim", "v1", "/api/v1/persistentvolumeclaims",
        "volumes: pods with claims are left alone",
    ),
    Kind(
        "PersistentVolume", "v1", "/api/v1/persistentvolumes",
        "volumes: pods with claims are left alone",
    ),
    Kind(
        "StorageClass", "storage.k8s.io/v1", "/apis/storage.k8s.io/v1/storageclasses",
        "volumes that are still to be made: where they can be",
    ),
    Kind(
        "CSINode", "storage.k8s.io/v1", "/apis/storage.k8s.io/v1/csinodes",
        "how many volumes a node takes",
    ),
    Kind(
        "Service", "v1", "/api/v1/services",
        "default spreading, which only breaks ties",
    ),
    Kind(
        "ReplicaSet", "apps/v1", "/apis/apps/v1/replicasets",
        "default spreading, which only breaks ties",
    ),
    Kind(
        "StatefulSet", "apps/v1", "/apis/apps/v1/statefulsets",
        "default spreading, which only breaks ties",
    ),
)  # fmt: skip
"""Read where it is allowed; the answer says what could not be."""
