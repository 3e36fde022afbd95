"""A release on the cluster would place the pods of the arm that has its name."""

from __future__ import annotations

from typing import Any

from kubernetes.client import ApiClient, AppsV1Api

from stowage_testbed.compare.session.errors import SecondSchedulerError

SELECTOR = "app.kubernetes.io/component=scheduler,app.kubernetes.io/managed-by=Helm"


def refuse_second_scheduler(api: ApiClient, cluster: str) -> None:
    """Return if no scheduler of a Helm release is on the cluster.

    Raises
    ------
    SecondSchedulerError
        There is one.
    """
    apps: Any = AppsV1Api(api)
    found = apps.list_deployment_for_all_namespaces(label_selector=SELECTOR).items
    if found:
        metadata = found[0].metadata
        raise SecondSchedulerError(cluster, f"{metadata.namespace}/{metadata.name}")
