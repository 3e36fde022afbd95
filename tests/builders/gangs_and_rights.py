"""What tests of a release on a minor look at: that it serves within its rights, and gangs of three pods."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kubernetes.client import CustomObjectsApi
from release_environment import ReleaseEnvironment, is_ready

from stowage_testbed.base.wait import wait_until
from stowage_testbed.helm import Release
from stowage_testbed.observe.audit import find_audit_end, read_audit_entries

ACCOUNT = "system:serviceaccount:stowage-system:stowage"


def check_release_serves(environment: ReleaseEnvironment, release: Release) -> None:
    """Have it place a pod and fail to place one, and look whether it was refused."""
    audit = environment.cluster.audit_log
    began = find_audit_end(audit)
    for name, cpu in (("plain", "0"), ("too-large", "100")):
        container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": cpu}}}
        spec = {"terminationGracePeriodSeconds": 0, "containers": [container]}
        body = {"metadata": {"name": name}, "spec": spec}
        environment.core.create_namespaced_pod("default", body)
    environment.until("plain", "to be placed", lambda pod: pod.spec.node_name)
    environment.until("too-large", "to be unschedulable", _is_unschedulable)
    for name in ("plain", "too-large"):
        environment.remove(name)

    log = release.log_files()["scheduler"].read_text()
    (pod,) = release.pods()
    assert is_ready(pod)
    assert [line for line in log.splitlines() if "forbidden" in line] == []
    entries = read_audit_entries(audit, began)
    assert [one for one in entries if one.user == ACCOUNT and one.code == 403] == []


def _is_unschedulable(pod: Any) -> bool:
    conditions = pod.status.conditions or ()
    return any(one.reason == "Unschedulable" for one in conditions)


PODS = 3
_GROUPS = ("scheduling.k8s.io", "v1beta1", "default", "podgroups")


@dataclass(frozen=True, slots=True)
class Gang:
    """A gang by its name, and the memory of each of its pods."""

    name: str
    memory: str


def create_gang(environment: ReleaseEnvironment, gang: Gang) -> None:
    """Create a gang that needs all of its pods."""
    CustomObjectsApi(environment.client).create_namespaced_custom_object(
        *_GROUPS,
        {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": gang.name},
            "spec": {"schedulingPolicy": {"gang": {"minCount": PODS}}},
        },
    )
    for number in range(PODS):
        environment.core.create_namespaced_pod("default", _member(gang, number))


def _member(gang: Gang, number: int) -> dict[str, Any]:
    requests = {"cpu": "100m", "memory": gang.memory}
    container = {"name": "c", "image": "none", "resources": {"requests": requests}}
    return {
        "metadata": {"name": f"{gang.name}-{number}", "labels": {"app": f"{gang.name}-{number}", "gang": gang.name}},
        "spec": {
            "schedulingGroup": {"podGroupName": gang.name},
            "nodeSelector": {"kubernetes.io/hostname": "gang-0"},
            "tolerations": [{"key": "example.com/gangs", "operator": "Exists"}],
            "terminationGracePeriodSeconds": 0,
            "containers": [container],
        },
    }


def members(environment: ReleaseEnvironment, gang: Gang) -> Sequence[Any]:
    """Return a gang's pods."""
    selector = f"gang={gang.name}"
    listed = environment.core.list_namespaced_pod("default", label_selector=selector)
    return list(listed.items)


def until_bound(environment: ReleaseEnvironment, gang: Gang) -> None:
    """Wait until all pods of a gang have a node."""
    wait_until(
        f"gang {gang.name} to be bound",
        lambda: [pod.spec.node_name for pod in members(environment, gang)],
        lambda found: len(found) == PODS and all(found),
    )


def is_refused_whole(pods: Sequence[Any]) -> bool:
    """Return whether every pod is said to be unschedulable."""
    reasons = [
        condition.reason
        for pod in pods
        for condition in pod.status.conditions or ()
        if condition.type == "PodScheduled" and pod.spec.node_name is None
    ]
    return reasons == ["Unschedulable"] * PODS


def remove_gang(environment: ReleaseEnvironment, gang: Gang) -> None:
    """Delete a gang and wait until its pods are gone."""
    for pod in members(environment, gang):
        environment.core.delete_namespaced_pod(pod.metadata.name, "default")
    wait_until(f"the pods of gang {gang.name} to be gone", lambda: members(environment, gang), lambda pods: not pods)
    CustomObjectsApi(environment.client).delete_namespaced_custom_object(*_GROUPS, gang.name)
