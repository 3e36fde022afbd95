"""Admission webhooks on a live cluster: each delays every pod that is created."""

from __future__ import annotations

from typing import Any

from kubernetes.client import AdmissionregistrationV1Api, ApiClient


def live_webhooks(api: ApiClient) -> tuple[str, ...]:
    """Return the webhooks on a cluster, each as ``configuration/webhook``, sorted."""
    admission: Any = AdmissionregistrationV1Api(api)
    configurations = [
        *admission.list_mutating_webhook_configuration().items,
        *admission.list_validating_webhook_configuration().items,
    ]
    return tuple(
        sorted(
            f"{one.metadata.name}/{webhook.name}"
            for one in configurations
            for webhook in one.webhooks or ()
        )
    )
