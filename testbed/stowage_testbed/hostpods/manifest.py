"""Kubernetes objects as the API server writes them, and the names a pod goes by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Manifest = Mapping[str, Any]
"""One decoded JSON object. A kubelet passes objects on; it does not own their model."""

POD_IP = "127.0.0.1"
"""Host pods share the host's loopback interface and listen nowhere else."""

SHORT_UID = 8


def short_uid(pod: Manifest) -> str:
    """Return the part of the pod's UID that names its folder.

    Eight characters keep the paths of Unix sockets under the kernel's 108 bytes.
    """
    return str(pod["metadata"]["uid"])[:SHORT_UID]


def pod_key(pod: Manifest) -> str:
    """Return ``namespace/name``, for logs and messages."""
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def pod_path(pod: Manifest) -> str:
    """Return the pod's path on the API server."""
    metadata = pod["metadata"]
    return f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
