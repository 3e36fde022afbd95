"""How everything talks to a cluster's API server: client, kinds, requests, errors."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stowage_testbed.errors import InputError, StowageError

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

Manifest = dict[str, Any]

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"

PAGE = 500
"""Objects that one request lists or deletes, as the client library of Go has it."""

_NAMESPACED = {
    "v1": {
        "Event": "events",
        "LimitRange": "limitranges",
        "PersistentVolumeClaim": "persistentvolumeclaims",
        "Pod": "pods",
        "ReplicationController": "replicationcontrollers",
        "ResourceQuota": "resourcequotas",
        "Service": "services",
        "ServiceAccount": "serviceaccounts",
    },
    "apps/v1": {
        "DaemonSet": "daemonsets",
        "Deployment": "deployments",
        "ReplicaSet": "replicasets",
        "StatefulSet": "statefulsets",
    },
    "autoscaling/v2": {"HorizontalPodAutoscaler": "horizontalpodautoscalers"},
    "batch/v1": {"Job": "jobs"},
    "policy/v1": {"PodDisruptionBudget": "poddisruptionbudgets"},
    "rbac.authorization.k8s.io/v1": {"RoleBinding": "rolebindings"},
    "resource.k8s.io/v1": {"ResourceClaim": "resourceclaims"},
    "storage.k8s.io/v1": {"CSIStorageCapacity": "csistoragecapacities"},
}
_CLUSTER_WIDE = {
    "v1": {
        "Namespace": "namespaces",
        "Node": "nodes",
        "PersistentVolume": "persistentvolumes",
    },
    "apiextensions.k8s.io/v1": {
        "CustomResourceDefinition": "customresourcedefinitions"
    },
    "apiregistration.k8s.io/v1": {"APIService": "apiservices"},
    "flowcontrol.apiserver.k8s.io/v1": {
        "FlowSchema": "flowschemas",
        "PriorityLevelConfiguration": "prioritylevelconfigurations",
    },
    "kwok.x-k8s.io/v1alpha1": {
        "ClusterResourceUsage": "clusterresourceusages",
        "Metric": "metrics",
    },
    "node.k8s.io/v1": {"RuntimeClass": "runtimeclasses"},
    "rbac.authorization.k8s.io/v1": {
        "ClusterRole": "clusterroles",
        "ClusterRoleBinding": "clusterrolebindings",
    },
    "resource.k8s.io/v1": {
        "DeviceClass": "deviceclasses",
        "ResourceSlice": "resourceslices",
    },
    "scheduling.k8s.io/v1": {"PriorityClass": "priorityclasses"},
    "stowage.dev/v1alpha1": {
        "PackingPlan": "packingplans",
        "Reservation": "reservations",
    },
    "storage.k8s.io/v1": {
        "CSIDriver": "csidrivers",
        "CSINode": "csinodes",
        "StorageClass": "storageclasses",
        "VolumeAttachment": "volumeattachments",
    },
}

_PLACES = {
    kind: (version, plural, namespaced)
    for table, namespaced in ((_NAMESPACED, True), (_CLUSTER_WIDE, False))
    for version, plurals in table.items()
    for kind, plural in plurals.items()
}


class ApiRefusedError(StowageError):
    """The API server refused a request.

    Attributes
    ----------
    status, body
        Of the answer.
    """

    def __init__(self, what: str, status: int, body: str) -> None:
        self.status, self.body = status, body
        super().__init__(
            f"the API server refused to {what} with {status}: {body.strip()[:400]}"
        )


class ApiUnreachableError(StowageError):
    """The API server gave no answer.

    Attributes
    ----------
    cause
        What came instead.
    """

    def __init__(self, what: str, cause: str) -> None:
        self.cause = cause
        super().__init__(
            f"no answer from the API server when asked to {what} ({cause}); "
            "the cluster has stopped: see `stowage list` and its logs"
        )


def new_api_client(
    kubeconfig: Path | None = None, context: str | None = None
) -> ApiClient:
    """Return a new client; the caller closes it.

    Parameters
    ----------
    kubeconfig
        Names the cluster; left out, kubectl's own choice: ``KUBECONFIG``, or the file
        in the home folder.
    context
        Of the kubeconfig; its own choice without one.

    Raises
    ------
    InputError
        The kubeconfig names no cluster, or has no such context.
    """
    from kubernetes import config  # noqa: PLC0415 - it takes long to import

    file = None if kubeconfig is None else str(kubeconfig)
    try:
        # The library has no annotations here, so that its call is checked by nobody.
        client: ApiClient = config.new_client_from_config(  # type: ignore[no-untyped-call]
            file, context=context
        )
    except config.ConfigException as error:
        asked = f"context {context!r}" if context else "the kubeconfig's own context"
        raise InputError(
            f"{asked} cannot be used: {error}; kubectl config get-contexts lists those "
            "that there are"
        ) from error
    return client


def path_of(
    kind: str, namespace: str = "", name: str = "", subresource: str = ""
) -> str:
    """Return the path of an object, or of all: of a namespace, if one is given."""
    version, plural, namespaced = _PLACES[kind]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    if namespaced and namespace:
        root = f"{root}/namespaces/{namespace}"
    return "/".join(filter(None, (root, plural, name, subresource)))


def manifest_of(kind: str, name: str, namespace: str = "", **parts: Any) -> Manifest:
    """Return an object of a kind, with a spec or whatever else it has."""
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    version = _PLACES[kind][0]
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **parts}


def send(
    api: ApiClient,
    method: str,
    path: str,
    what: str,
    body: Any = None,
    *,
    content: str = JSON,
    accept: str = JSON,
    query: Sequence[tuple[str, str]] = (),
    timeout_s: float | None = None,
) -> Any:  # urllib3's response; the client hands it on untyped
    """Send a request and return the response, of which the body is not read yet.

    Parameters
    ----------
    what
        The request in words, as in "create Pod web".
    body
        Plain objects, or text as it is.
    content, accept
        Media types of body and answer.

    Raises
    ------
    ApiRefusedError
        The server refused.
    ApiUnreachableError
        It gave no answer.
    """
    # Whoever has a client has imported both already; `stowage --help` has not.
    from kubernetes.client import ApiException  # noqa: PLC0415
    from urllib3.exceptions import HTTPError  # noqa: PLC0415

    request = api.param_serialize(
        method,
        path,
        query_params=list(query),
        header_params={"Accept": accept, "Content-Type": content},
        body=body,
        auth_settings=["BearerToken"],
    )
    try:
        response = api.call_api(*request, _request_timeout=timeout_s).response
        if response.status < HTTPStatus.BAD_REQUEST:
            return response
        text = response.data.decode(errors="replace")
    except (ApiException, HTTPError, OSError) as error:
        raise ApiUnreachableError(what, str(error)) from error
    raise ApiRefusedError(what, response.status, text)


def ask(
    api: ApiClient,
    method: str,
    path: str,
    what: str,
    body: Any = None,
    *,
    allowed: Collection[int] = (),
    **options: Any,
) -> dict[str, Any]:
    """Send a request and return the JSON object of the answer.

    Parameters
    ----------
    allowed
        Refusals that are none; the answer is empty then.
    options
        As `send` takes them, which says the rest.
    """
    from urllib3.exceptions import HTTPError  # noqa: PLC0415 - as in `send`

    try:
        response = send(api, method, path, what, body, **options)
        made: dict[str, Any] = json.loads(response.data)
    except ApiRefusedError as error:
        if error.status in allowed:
            return {}
        raise
    except (HTTPError, OSError) as error:
        raise ApiUnreachableError(what, str(error)) from error
    return made


class Objects:
    """The objects of a cluster by kind, name and namespace.

    Each method raises what `ask` raises.

    Parameters
    ----------
    api
        Client of the cluster.
    timeout_s
        How long one request may take; as long as the client allows without.
    """

    def __init__(self, api: ApiClient, timeout_s: float | None = None) -> None:
        self._api = api
        self._timeout_s = timeout_s

    def create(self, manifest: Manifest, *, or_keep: bool = False) -> dict[str, Any]:
        """Create an object and return it as the server made it.

        With ``or_keep`` an object of that name that is there already is left alone.
        """
        kind, metadata = manifest["kind"], manifest["metadata"]
        path = path_of(kind, metadata.get("namespace", ""))
        name = metadata.get("name") or metadata["generateName"]
        allowed = {HTTPStatus.CONFLICT} if or_keep else set()
        return self._ask(
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
        path = path_of(kind, namespace, name, subresource)
        return self._ask(
            "PATCH", path, f"change {kind} {name}", change, content=MERGE_PATCH
        )

    def evict(self, name: str, *, namespace: str, uid: str) -> None:
        """Ask for a pod to be evicted; a budget may refuse it."""
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": {"preconditions": {"uid": uid}},
        }
        path = path_of("Pod", namespace, name, "eviction")
        self._ask("POST", path, f"evict Pod {name}", eviction)

    def listed(self, kind: str, namespace: str = "") -> list[dict[str, Any]]:
        """Return every object of a kind, of a namespace if one is given.

        They are read page by page, without a burden on the server of a large cluster.
        """
        return list(self.each(kind, namespace))

    def each(self, kind: str, namespace: str = "") -> Iterator[dict[str, Any]]:
        """Yield what `listed` returns, with one page in memory at a time."""
        # A list does not say of its items what they are.
        header = {"apiVersion": _PLACES[kind][0], "kind": kind}
        query = [("limit", str(PAGE))]
        while True:
            page = self._ask(
                "GET", path_of(kind, namespace), f"list every {kind}", query=query
            )
            for item in page.get("items") or []:
                yield {**header, **item}
            left = page["metadata"].get("continue")
            if not left:
                return
            query = [("limit", str(PAGE)), ("continue", left)]

    def count(self, kind: str, namespace: str = "") -> int:
        """Return how many objects there are, of which only one is listed."""
        path, query = path_of(kind, namespace), [("limit", "1")]
        page = self._ask("GET", path, f"count every {kind}", query=query)
        more = page["metadata"].get("remainingItemCount")
        return len(page.get("items") or []) + int(more or 0)

    def read(self, kind: str, name: str, *, namespace: str = "") -> dict[str, Any]:
        """Return an object as it is now; watches may be a little behind."""
        return self._ask("GET", path_of(kind, namespace, name), f"read {kind} {name}")

    def delete(
        self, kind: str, name: str, *, namespace: str = "", at_once: bool = False
    ) -> None:
        """Delete an object; no error if it is not there.

        Its dependents go as well, by the garbage collector. With ``at_once`` a pod gets
        no time to end.
        """
        options: dict[str, Any] = {"propagationPolicy": "Background"}
        if at_once:
            options["gracePeriodSeconds"] = 0
        self._ask(
            "DELETE",
            path_of(kind, namespace, name),
            f"delete {kind} {name}",
            options,
            allowed={HTTPStatus.NOT_FOUND},
        )

    def delete_all(self, kind: str, namespace: str = "") -> None:
        """Delete every object of a kind, in a namespace if the kind has them.

        Pods go at once: nothing on a fake node needs time to end. Page by page, since
        one request has a minute only.
        """
        options = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
        query = [("limit", str(PAGE))]
        while True:
            page = self._ask(
                "DELETE",
                path_of(kind, namespace),
                f"delete every {kind}",
                options,
                allowed={HTTPStatus.NOT_FOUND},
                query=query,
            )
            left = page.get("metadata", {}).get("continue")
            if not left:
                return
            query = [("limit", str(PAGE)), ("continue", left)]

    def _ask(
        self, method: str, path: str, what: str, body: Any = None, **options: Any
    ) -> dict[str, Any]:
        options["timeout_s"] = self._timeout_s
        return ask(self._api, method, path, what, body, **options)
