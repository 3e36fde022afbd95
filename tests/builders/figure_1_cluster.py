"""The paper's figure 1 on a live cluster, and the plans that are asked for there."""

from collections.abc import Callable
from typing import Any

from kubernetes.client import AppsV1Api
from release_environment import ReleaseEnvironment

from stowage_testbed.base.wait import wait_until
from stowage_testbed.cli.plan_control import PlanApi
from stowage_testbed.observe.change import JsonObject

SIZES_GB = {"first": 2, "second": 2, "third": 3}


def fill(environment: ReleaseEnvironment) -> None:
    """Create figure 1's pods in their order; the third does not fit."""
    apps = AppsV1Api(environment.client)
    for name in SIZES_GB:
        apps.create_namespaced_replica_set("default", _replica_set(name))
        _until(environment, f"{name} to be there", _arrived(name))


def empty(environment: ReleaseEnvironment) -> None:
    """Remove figure 1's pods."""
    apps = AppsV1Api(environment.client)
    for name in SIZES_GB:
        apps.delete_namespaced_replica_set(name, "default")
    # Those that are still ending, too: they take room from the next test's pods.
    wait_until(
        "the pods to be gone", lambda: environment.core.list_namespaced_pod("default").items, lambda pods: not pods
    )


def nodes(environment: ReleaseEnvironment) -> dict[str, str]:
    """Return the node of each ReplicaSet's pod, empty while it waits."""
    pods = environment.core.list_namespaced_pod("default").items
    return {
        pod.metadata.labels["app"]: pod.spec.node_name or "" for pod in pods if pod.metadata.deletion_timestamp is None
    }


def wait_for(environment: ReleaseEnvironment, name: str, phase: str) -> JsonObject:
    """Return the plan once it is in the phase."""
    plans = PlanApi(environment.client)
    return wait_until(
        f"plan {name} to be {phase}",
        lambda: plans.plan(name),
        lambda plan: plan.get("status", {}).get("phase") == phase,
    )


def _arrived(name: str) -> Callable[[dict[str, str]], bool]:
    """Return what holds when a pod runs, or waits if it does not fit."""
    if name == "third":
        return lambda on: on.get(name) == ""
    return lambda on: bool(on.get(name))


def _until(environment: ReleaseEnvironment, what: str, holds: Callable[[dict[str, str]], bool]) -> None:
    wait_until(what, lambda: nodes(environment), holds)


def _replica_set(name: str) -> Any:
    requests = {"cpu": "100m", "memory": f"{SIZES_GB[name]}G"}
    container = {"name": "c", "image": "none", "resources": {"requests": requests}}
    return {
        "metadata": {"name": name},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"terminationGracePeriodSeconds": 1, "containers": [container]},
            },
        },
    }
