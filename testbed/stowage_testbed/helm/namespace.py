"""The release's namespace, guarded as strictly as Kubernetes can."""

from __future__ import annotations

from typing import Any

from kubernetes.client import CoreV1Api, V1Namespace, V1ObjectMeta

from stowage_testbed.cluster.protocol import Cluster

PATCH = "application/merge-patch+json"
LABELS = {
    "pod-security.kubernetes.io/enforce": "restricted",
    "pod-security.kubernetes.io/enforce-version": "latest",
}


def ensure_namespace(cluster: Cluster, name: str) -> None:
    """Create the namespace, or mark it: pods outside the standard are refused."""
    with cluster.api_client() as client:
        core = CoreV1Api(client)
        present: list[Any] = core.list_namespace(
            field_selector=f"metadata.name={name}"
        ).items
        if not present:
            metadata = V1ObjectMeta(name=name, labels=LABELS)
            core.create_namespace(V1Namespace(metadata=metadata))
        elif not LABELS.items() <= (present[0].metadata.labels or {}).items():
            core.patch_namespace(
                name, {"metadata": {"labels": LABELS}}, _content_type=PATCH
            )
