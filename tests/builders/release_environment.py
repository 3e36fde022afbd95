"""Watching and touching a live release, for end-to-end tests."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import psutil
from kubernetes.client import ApiClient, ApiException, CoreV1Api

from stowage_testbed.base.wait import wait_until
from stowage_testbed.cluster import Cluster
from stowage_testbed.cluster.components import HOST_NODE, HOST_TAINT

NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class ReleaseEnvironment:
    """A cluster with a client; its answers are typed loosely."""

    cluster: Cluster
    client: ApiClient

    @property
    def core(self) -> Any:
        """The core API."""
        return CoreV1Api(self.client)

    def pod(self, namespace: str, name: str) -> Any:
        """Return a pod, or ``None``."""
        try:
            return self.core.read_namespaced_pod(name, namespace)
        except ApiException as error:
            if error.status != NOT_FOUND:
                raise
            return None

    def host_pod(self, name: str, containers: list[dict[str, Any]], **spec: Any) -> dict[str, Any]:
        """Create a pod on the host node, in namespace default."""
        body = {
            "metadata": {"name": name},
            "spec": {
                "nodeName": HOST_NODE,
                "tolerations": [{"key": HOST_TAINT, "operator": "Exists"}],
                "terminationGracePeriodSeconds": 1,
                "automountServiceAccountToken": False,
                "containers": containers,
                **spec,
            },
        }
        self.core.create_namespaced_pod("default", body)
        return body

    def until(self, name: str, what: str, holds: Callable[[Any], bool]) -> Any:
        """Wait until a pod of namespace default is as wanted."""
        return wait_until(f"pod {name} {what}", lambda: self.pod("default", name), holds)

    def remove(self, name: str) -> None:
        """Delete a pod of namespace default and wait until it is gone."""
        self.core.delete_namespaced_pod(name, "default")
        self.until(name, "to be gone", lambda pod: pod is None)


def state(pod: Any, container: int = 0) -> Any:
    """Return the state of a pod's container, ``None`` before there is one."""
    statuses = pod.status.container_statuses
    return statuses[container].state if statuses else None


def is_ready(pod: Any) -> bool:
    """Return whether a pod is Ready."""
    conditions: Mapping[str, str] = {condition.type: condition.status for condition in pod.status.conditions or ()}
    return conditions.get("Ready") == "True"


def listening(processes: Iterable[psutil.Process]) -> list[str]:
    """Return the addresses on which processes listen, one a port."""
    return [
        connection.laddr.ip
        for process in processes
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]


def processes_in(folder: object) -> list[psutil.Process]:
    """Return the processes that run in a folder, as containers do in their pod's."""
    found = []
    for process in psutil.process_iter():
        try:
            cwd = process.cwd()
        except psutil.Error:
            continue
        if cwd.startswith(f"{folder}{os.sep}"):
            found.append(process)
    return found
