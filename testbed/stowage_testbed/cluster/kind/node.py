"""kind's node, made the place of the release and of nothing else."""

from __future__ import annotations

from typing import Any

from kubernetes.client import ApiClient, AppsV1Api, CoreV1Api

from stowage_testbed.cluster.host_pods import HOST_TAINT
from stowage_testbed.docker.engine import docker
from stowage_testbed.wait import wait_until

_SCHEDULER_MANIFEST = "/etc/kubernetes/manifests/kube-scheduler.yaml"
_SCHEDULER = "component=kube-scheduler"
_HOSTNAME = "kubernetes.io/hostname"


def prepare_node(api: ApiClient, node: str, timeout_s: float) -> str:
    """Prepare a node once it is Ready, and return its address.

    Workload is kept off it. What kind brings by itself stays on it, or goes: pods of
    DaemonSets would be made for every fake node, and those that nobody needs here would
    be placed there by the scheduler under test. kind's own scheduler goes last.

    Raises
    ------
    WaitTimeoutError
        The node is not Ready, or the scheduler does not end.
    """
    core = CoreV1Api(api)
    wait_until(
        f"node {node} to be Ready",
        lambda: _conditions(core, node),
        lambda seen: seen.get("Ready") == "True",
        timeout_s=timeout_s,
    )
    taint = {"key": HOST_TAINT, "effect": "NoSchedule"}
    core.patch_node(node, {"spec": {"taints": [taint]}})
    _keep_daemons_on(api, node)
    _remove_deployments(api)
    docker("exec", node, "rm", "--force", _SCHEDULER_MANIFEST)
    wait_until(
        "kind's own scheduler to end",
        lambda: _scheduler_pods(core),
        lambda names: not names,
        timeout_s=timeout_s,
    )
    body: Any = core.read_node(node)
    addresses = {one.type: one.address for one in body.status.addresses}
    return str(addresses["InternalIP"])


def _conditions(core: CoreV1Api, node: str) -> dict[str, str]:
    found: list[Any] = core.list_node(field_selector=f"metadata.name={node}").items
    return {
        condition.type: condition.status
        for body in found
        for condition in body.status.conditions or ()
    }


def _keep_daemons_on(api: ApiClient, node: str) -> None:
    apps = AppsV1Api(api)
    pinned = {"spec": {"template": {"spec": {"nodeSelector": {_HOSTNAME: node}}}}}
    daemons: list[Any] = apps.list_daemon_set_for_all_namespaces().items
    for daemon in daemons:
        meta = daemon.metadata
        apps.patch_namespaced_daemon_set(meta.name, meta.namespace, pinned)


def _remove_deployments(api: ApiClient) -> None:
    apps = AppsV1Api(api)
    deployments: list[Any] = apps.list_deployment_for_all_namespaces().items
    for deployment in deployments:
        meta = deployment.metadata
        apps.delete_namespaced_deployment(meta.name, meta.namespace)


def _scheduler_pods(core: CoreV1Api) -> list[str]:
    found: list[Any] = core.list_namespaced_pod(
        "kube-system", label_selector=_SCHEDULER
    ).items
    return [pod.metadata.name for pod in found]
