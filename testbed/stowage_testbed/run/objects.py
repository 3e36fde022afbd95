"""Creating and deleting the few kinds of objects that a scenario is made of."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from kubernetes import client

from stowage_testbed.run.api_request import HTTP_CONFLICT, HTTP_NOT_FOUND, ask
from stowage_testbed.scenario.manifests import Manifest

PAGE = 500
"""Objects that one request deletes."""

_PATHS = {
    "Namespace": "/api/v1/namespaces",
    "Node": "/api/v1/nodes",
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "ReplicaSet": "/apis/apps/v1/namespaces/{namespace}/replicasets",
    "Deployment": "/apis/apps/v1/namespaces/{namespace}/deployments",
    "Pod": "/api/v1/namespaces/{namespace}/pods",
    "PackingPlan": "/apis/stowage.dev/v1alpha1/packingplans",
    "FlowSchema": "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
    "PriorityLevelConfiguration": (
        "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"
    ),
    "RuntimeClass": "/apis/node.k8s.io/v1/runtimeclasses",
    "RoleBinding": (
        "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings"
    ),
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "PodDisruptionBudget": (
        "/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets"
    ),
    "ResourceQuota": "/api/v1/namespaces/{namespace}/resourcequotas",
    "ClusterResourceUsage": "/apis/kwok.x-k8s.io/v1alpha1/clusterresourceusages",
    "LimitRange": "/api/v1/namespaces/{namespace}/limitranges",
    "Service": "/api/v1/namespaces/{namespace}/services",
    "ServiceAccount": "/api/v1/namespaces/{namespace}/serviceaccounts",
    "HorizontalPodAutoscaler": (
        "/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers"
    ),
    "Reservation": "/apis/stowage.dev/v1alpha1/reservations",
}
_MERGE_PATCH = "application/merge-patch+json"


class Objects:
    """Plain requests to the API server, with refusals as errors of their own.

    Parameters
    ----------
    api
        Client of the cluster.
    """

    def __init__(self, api: client.ApiClient) -> None:
        self._request = partial(ask, api)

    def create(self, manifest: Manifest, *, or_keep: bool = False) -> dict[str, Any]:
        """Create an object and return it as the server made it.

        With ``or_keep`` an object of that name that is there already is left alone.
        """
        kind, metadata = manifest["kind"], manifest["metadata"]
        path = _PATHS[kind].format(namespace=metadata.get("namespace", ""))
        name = metadata.get("name") or metadata["generateName"]
        allowed = {HTTP_CONFLICT} if or_keep else set()
        return self._request(
            "POST", path, f"create {kind} {name}", manifest, allowed=allowed
        )

    def patch(
        self,
        kind: str,
        name: str,
        change: Mapping[str, Any],
        *,
        namespace: str = "",
        subresource: str = "",
    ) -> dict[str, Any]:
        """Merge a change into an object, or into its subresource."""
        path = "/".join(
            filter(None, (_PATHS[kind].format(namespace=namespace), name, subresource))
        )
        return self._request(
            "PATCH", path, f"change {kind} {name}", change, content=_MERGE_PATCH
        )

    def evict(self, name: str, *, namespace: str, uid: str) -> None:
        """Ask for a pod to be evicted; a budget may refuse it."""
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": {"preconditions": {"uid": uid}},
        }
        path = f"{_PATHS['Pod'].format(namespace=namespace)}/{name}/eviction"
        self._request("POST", path, f"evict Pod {name}", eviction)

    def listed(self, kind: str, namespace: str = "") -> list[dict[str, Any]]:
        """Return every object of a kind, of a namespace if the kind has them."""
        path = _PATHS[kind].format(namespace=namespace)
        answer = self._request("GET", path, f"list every {kind}", None)
        # A list says once of what its items are.
        header = {"apiVersion": answer["apiVersion"], "kind": kind}
        return [{**header, **item} for item in answer.get("items") or []]

    def read(self, kind: str, name: str, *, namespace: str = "") -> dict[str, Any]:
        """Return an object as it is now; watches may be a little behind."""
        path = f"{_PATHS[kind].format(namespace=namespace)}/{name}"
        return self._request("GET", path, f"read {kind} {name}", None)

    def delete(
        self, kind: str, name: str, *, namespace: str = "", at_once: bool = False
    ) -> None:
        """Delete an object; no error if it is not there.

        Its dependents go as well, by the garbage collector. With ``at_once`` a pod gets
        no time to end.
        """
        path = f"{_PATHS[kind].format(namespace=namespace)}/{name}"
        options: dict[str, Any] = {"propagationPolicy": "Background"}
        if at_once:
            options["gracePeriodSeconds"] = 0
        self._request(
            "DELETE", path, f"delete {kind} {name}", options, allowed={HTTP_NOT_FOUND}
        )

    def delete_all(self, kind: str, namespace: str = "") -> None:
        """Delete every object of a kind, in a namespace if the kind has them.

        Pods go at once: nothing on a fake node needs time to end. Page by page, since
        one request has a minute only.
        """
        path = _PATHS[kind].format(namespace=namespace)
        options = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
        query = [("limit", str(PAGE))]
        while True:
            page = self._request(
                "DELETE",
                path,
                f"delete every {kind}",
                options,
                allowed={HTTP_NOT_FOUND},
                query=query,
            )
            left = page.get("metadata", {}).get("continue")
            if not left:
                return
            query = [("limit", str(PAGE)), ("continue", left)]
