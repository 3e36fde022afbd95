"""A cluster on which arms place pods, for end-to-end tests."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubernetes.client import ApiClient, ApiextensionsV1Api, CoreV1Api, CustomObjectsApi, RbacAuthorizationV1Api

from stowage_testbed.api.pod_templates import PodOverrides
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.cluster import Cluster
from stowage_testbed.cluster.components import processes_of
from stowage_testbed.compare.arms.serving import LABEL, NAMESPACE

BIND_TIMEOUT_S = HANG_S


@dataclass(frozen=True, slots=True)
class ArmEnvironment:
    """A cluster with a client; its answers are typed loosely."""

    cluster: Cluster
    api: ApiClient

    @property
    def core(self) -> Any:
        """The core API."""
        return CoreV1Api(self.api)

    @contextmanager
    def pods(self, pod_overrides: PodOverrides, count: int = 3) -> Iterator[list[str]]:
        """Create pods with these overrides; they are gone afterwards."""
        names = [f"{pod_overrides.scheduler_name}-{number}" for number in range(count)]
        for name in names:
            self.core.create_namespaced_pod("default", _pod(name, pod_overrides))
        try:
            yield names
        finally:
            for name in names:
                self.core.delete_namespaced_pod(name, "default", grace_period_seconds=0)
            wait_until("the pods to go", self.placed, lambda placed: not placed)

    def placed(self) -> dict[str, str | None]:
        """Return the node of every pod, ``None`` while it has none."""
        found = self.core.list_namespaced_pod("default").items
        return {pod.metadata.name: pod.spec.node_name for pod in found}

    def wait_bound(self, names: Collection[str]) -> None:
        """Return when all these pods have a node."""
        wait_until(
            f"{len(names)} pods to be bound",
            self.placed,
            lambda placed: all(placed.get(name) for name in names),
            timeout_s=BIND_TIMEOUT_S,
        )

    def processes(self) -> set[int]:
        """Return the processes of the cluster and of all that runs beside it."""
        return {process.pid for process in processes_of(self.cluster.workdir)}

    def arm_objects(self) -> list[str]:
        """Return what is on the cluster for any arm."""
        rbac: Any = RbacAuthorizationV1Api(self.api)
        selected = {"label_selector": LABEL}
        found = [
            *rbac.list_cluster_role(**selected).items,
            *rbac.list_cluster_role_binding(**selected).items,
            *self.core.list_namespaced_service_account(NAMESPACE, **selected).items,
            *self.core.list_namespaced_config_map(NAMESPACE, **selected).items,
        ]
        return [one.metadata.name for one in found]

    def left_of_comparisons(self) -> list[str]:
        """Return the namespaces and nodes that a comparison made."""
        namespaces = [
            one.metadata.name
            for one in self.core.list_namespace().items
            # One that goes is gone in seconds, whoever waits.
            if not one.metadata.deletion_timestamp
        ]
        nodes = [one.metadata.name for one in self.core.list_node().items]
        return [
            *(one for one in namespaces if one.startswith(("warm-", "burst-"))),
            *(one for one in nodes if one.startswith("exp-pool")),
        ]

    def custom_objects(self) -> list[str]:
        """Return every object of a custom resource, as ``plural/name``."""
        extensions: Any = ApiextensionsV1Api(self.api)
        objects: Any = CustomObjectsApi(self.api)
        found = []
        for definition in extensions.list_custom_resource_definition().items:
            spec = definition.spec
            version = next(one.name for one in spec.versions if one.storage)
            plural = spec.names.plural
            listed = objects.list_cluster_custom_object(spec.group, version, plural)
            for one in listed["items"]:
                found.append(f"{plural}/{one['metadata']['name']}")
        return found


def secrets_in(folder: Path) -> list[Path]:
    """Return the files below a folder that hold a token."""
    return [
        file
        for file in folder.rglob("*")
        # Every token of a service account is a JWT, and so begins like this.
        if file.is_file() and "eyJhbGciOi" in file.read_text("utf-8", errors="replace")
    ]


def _pod(name: str, pod_overrides: PodOverrides) -> dict[str, Any]:
    requests = {"requests": {"cpu": "100m", "memory": "64Mi"}}
    container = {"name": "c", "image": "pause", "resources": requests}
    return {
        "metadata": {
            "name": name,
            "labels": dict(pod_overrides.labels),
            "annotations": dict(pod_overrides.annotations),
        },
        "spec": {"schedulerName": pod_overrides.scheduler_name, "containers": [container]},
    }
