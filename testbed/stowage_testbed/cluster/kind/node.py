"""kind's node, made the place of the release and of nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from stowage_testbed.api.objects import Objects
from stowage_testbed.base.wait import wait_until
from stowage_testbed.cluster.host_pods import HOST_TAINT
from stowage_testbed.images.docker_engine import docker

_SCHEDULER_MANIFEST = "/etc/kubernetes/manifests/kube-scheduler.yaml"
_SCHEDULER = "kube-scheduler"
_HOSTNAME = "kubernetes.io/hostname"


def prepare_node(objects: Objects, node: str, timeout_s: float) -> str:
    """Prepare a node once it is Ready, and return its address.

    Workload is kept off it. What kind brings by itself stays on it, or goes: pods of DaemonSets would be made for every
    fake node, and those that nobody needs here would be placed there by the scheduler under test. kind's own scheduler
    goes last.
    """
    wait_until(
        f"node {node} to be Ready",
        lambda: dict(_conditions(objects, node)),
        lambda seen: seen.get("Ready") == "True",
        timeout_s=timeout_s,
    )
    taint = {"key": HOST_TAINT, "effect": "NoSchedule"}
    objects.patch("Node", node, {"spec": {"taints": [taint]}})
    pinned = {"spec": {"template": {"spec": {"nodeSelector": {_HOSTNAME: node}}}}}
    for one in objects.list_all("DaemonSet"):
        meta = one["metadata"]
        objects.patch("DaemonSet", meta["name"], pinned, namespace=meta["namespace"])
    for one in objects.list_all("Deployment"):
        meta = one["metadata"]
        objects.delete("Deployment", meta["name"], namespace=meta["namespace"])
    docker("exec", node, "rm", "--force", _SCHEDULER_MANIFEST)
    wait_until(
        "kind's own scheduler to end", lambda: _scheduler_pods(objects), lambda names: not names, timeout_s=timeout_s
    )
    addresses = objects.read("Node", node)["status"]["addresses"]
    return next(str(one["address"]) for one in addresses if one["type"] == "InternalIP")


def _conditions(objects: Objects, node: str) -> Iterator[tuple[str, str]]:
    for body in objects.list_all("Node"):
        if body["metadata"]["name"] == node:
            for condition in body["status"].get("conditions") or ():
                yield condition["type"], condition["status"]


def _scheduler_pods(objects: Objects) -> list[str]:
    return [
        pod["metadata"]["name"]
        for pod in objects.list_all("Pod", "kube-system")
        if (pod["metadata"].get("labels") or {}).get("component") == _SCHEDULER
    ]
