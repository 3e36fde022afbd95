"""At the chart's defaults no plan touches a pod that an eviction would harm."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from amounts import size
from kubernetes.client import AppsV1Api, BatchV1Api, PolicyV1Api
from release_environment import ReleaseEnvironment, is_ready

from stowage_testbed.base.wait import wait_until
from stowage_testbed.cli.plan_control import PlanApi, PlanMissingError, page_of
from stowage_testbed.cluster import KwokBinaryCluster, NodePool, create_nodes
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.helm import install_release, uninstall_release

pytestmark = [pytest.mark.e2e, pytest.mark.smoke]

GB = 10**9
NAMESPACE = "default"
KINDS = {
    "alone": "singleton",
    "job": "job",
    "stateful": "statefulset",
    "slow": "long-grace-period",
    "unwilling": "opted-out",
}
"""A workload for each rule; each pod leaves half of its node free."""


@pytest.fixture(scope="module")
def careful() -> Iterator[ReleaseEnvironment]:
    """Return half-full nodes, by the chart's defaults, whose pods must be spared."""
    with running_cluster(KwokBinaryCluster(f"test-{secrets.token_hex(3)}")) as running:
        with running.api_client() as client:
            create_nodes(client, [NodePool("node", 8, size(4000, 4 * GB))])
            release = install_release(
                running, profile="optimizer", optimizer_enabled=True
            )
            environment = ReleaseEnvironment(running, client)
            _fill(environment)
            yield environment
        uninstall_release(release)


def _fill(environment: ReleaseEnvironment) -> None:
    apps: Any = AppsV1Api(environment.client)
    batch: Any = BatchV1Api(environment.client)
    job = _template("job", annotations={"stowage.dev/lifetime": "1h"})
    job["spec"]["restartPolicy"] = "Never"
    batch.create_namespaced_job(
        NAMESPACE,
        {"metadata": {"name": "job"}, "spec": {"template": job, "backoffLimit": 0}},
    )
    apps.create_namespaced_stateful_set(
        NAMESPACE,
        _workload("stateful", 2, serviceName="s", podManagementPolicy="Parallel"),
    )
    slow = _workload("slow", 2)
    slow["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 600
    unwilling = _workload("unwilling", 2)
    unwilling["spec"]["template"]["metadata"]["annotations"] = {
        "stowage.dev/do-not-move": "true"
    }
    for body in (_workload("alone", 1), slow, unwilling):
        apps.create_namespaced_replica_set(NAMESPACE, body)
    wait_until(
        "eight pods to be ready",
        lambda: sum(
            map(is_ready, environment.core.list_namespaced_pod(NAMESPACE).items)
        ),
        lambda ready: ready == 8,
        timeout_s=60,
    )


def _template(name: str, gb: int = 2, **metadata: Any) -> dict[str, Any]:
    requests = {"cpu": "100m", "memory": f"{gb}G"}
    container = {"name": "c", "image": "none", "resources": {"requests": requests}}
    return {
        "metadata": {"labels": {"app": name}, **metadata},
        "spec": {"terminationGracePeriodSeconds": 1, "containers": [container]},
    }


def _workload(name: str, replicas: int, gb: int = 2, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": _template(name, gb),
            **spec,
        },
    }


def _uids(environment: ReleaseEnvironment) -> Mapping[str, str]:
    """Return the node of each pod; a pod that was evicted has another UID."""
    pods = environment.core.list_namespaced_pod(NAMESPACE).items
    return {pod.metadata.uid: pod.spec.node_name or "" for pod in pods}


def _newest(environment: ReleaseEnvironment) -> Any:
    try:
        return PlanApi(environment.client).plan()
    except PlanMissingError:
        return {}


def _phase(plan: Any) -> str:
    return str(plan.get("status", {}).get("phase", ""))


def test_no_kind_that_would_be_harmed_is_moved_and_the_plan_names_its_rule(
    careful: ReleaseEnvironment,
) -> None:
    """A set-up that lifts the rules first would prove nothing about an installation."""
    before = _uids(careful)
    apps: Any = AppsV1Api(careful.client)
    apps.create_namespaced_replica_set(NAMESPACE, _workload("waiting", 1, gb=3))

    plan = wait_until(
        "a plan that has found no pod to move",
        lambda: _newest(careful),
        lambda plan: _phase(plan) == "NoImprovement",
        timeout_s=60,
    )

    protected = {one["reason"]: one for one in plan["status"]["protected"]}
    assert set(KINDS.values()) <= protected.keys()
    assert all(protected[reason]["inTheWayOf"] == 1 for reason in KINDS.values())
    assert before.items() <= _uids(careful).items()
    page = page_of(plan)
    assert "kept where they are:" in page
    assert all(reason in page for reason in KINDS.values())


def test_a_budget_says_that_a_pod_may_move(careful: ReleaseEnvironment) -> None:
    """The owner's word is worth more than a rule for those who gave none."""
    policy: Any = PolicyV1Api(careful.client)
    policy.create_namespaced_pod_disruption_budget(
        NAMESPACE,
        {
            "metadata": {"name": "alone"},
            "spec": {
                "maxUnavailable": 1,
                "selector": {"matchLabels": {"app": "alone"}},
            },
        },
    )
    moved = wait_until(
        "the pod under the budget to have made room",
        lambda: _newest(careful),
        lambda plan: _phase(plan) == "Completed",
        timeout_s=60,
    )

    (move,) = moved["status"]["moves"]
    assert move["pod"].startswith("default/alone-")
