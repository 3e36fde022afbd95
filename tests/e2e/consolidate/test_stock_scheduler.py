"""Nodes are emptied of pods that the stock scheduler places, and nothing is bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from figure_1_cluster import wait_for
from kubernetes.client import (
    AppsV1Api,
    CoreV1Api,
    CustomObjectsApi,
    PolicyV1Api,
)
from release_environment import ReleaseEnvironment
from typer.testing import CliRunner

from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.cli import app
from stowage_testbed.cli.plan_control import PlanApi

pytestmark = pytest.mark.e2e

PRICE = Decimal("0.192")
PLANS = ("stowage.dev", "v1alpha1", "packingplans")
WORKLOADS = ("api", "jobs", "queue", "web")
REPLICAS = 10
ALLOWED = 3
"""Pods of `web` that its budget lets go at a time."""
SETTLED_S = 6.0
"""After that, no pod is too young to be moved."""


def _deployment(name: str) -> dict[str, Any]:
    container = {
        "name": "c",
        "image": "none",
        "resources": {"requests": {"cpu": "900m", "memory": "1G"}},
    }
    return {
        "metadata": {"name": name},
        "spec": {
            "replicas": REPLICAS,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"terminationGracePeriodSeconds": 1, "containers": [container]},
            },
        },
    }


def _pods(core: CoreV1Api) -> list[Any]:
    return [
        pod
        for pod in core.list_namespaced_pod("default").items
        if pod.metadata.deletion_timestamp is None
    ]


def _all_serve(pods: list[Any]) -> bool:
    def serves(pod: Any) -> bool:
        started = pod.status.start_time
        ready = {one.type: one.status for one in pod.status.conditions or ()}
        return (
            ready.get("Ready") == "True"
            and (datetime.now(UTC) - started).total_seconds() > SETTLED_S
        )

    return len(pods) == REPLICAS * len(WORKLOADS) and all(map(serves, pods))


@pytest.fixture
def half_empty(environment: ReleaseEnvironment) -> Iterator[ReleaseEnvironment]:
    """Return the nodes with two pods each, none of which is too young to be moved."""
    apps, budgets = AppsV1Api(environment.client), PolicyV1Api(environment.client)
    for name in WORKLOADS:
        apps.create_namespaced_deployment("default", _deployment(name))
    budgets.create_namespaced_pod_disruption_budget(
        "default",
        {
            "metadata": {"name": "web"},
            "spec": {
                "minAvailable": REPLICAS - ALLOWED,
                "selector": {"matchLabels": {"app": "web"}},
            },
        },
    )
    wait_until(
        "all pods to serve",
        lambda: _pods(environment.core),
        _all_serve,
        timeout_s=HANG_S,
    )
    yield environment
    for name in WORKLOADS:
        apps.delete_namespaced_deployment(name, "default")
    budgets.delete_namespaced_pod_disruption_budget("web", "default")


def _ask(environment: ReleaseEnvironment, name: str, **spec: object) -> None:
    CustomObjectsApi(environment.client).create_cluster_custom_object(
        *PLANS,
        {
            "apiVersion": "stowage.dev/v1alpha1",
            "kind": "PackingPlan",
            "metadata": {"name": name},
            "spec": {
                "objective": "Consolidate",
                "schedulerNames": ["default-scheduler"],
                "timeLimitSeconds": 10,
                **spec,
            },
        },
    )


def _fewest_ready(environment: ReleaseEnvironment) -> Callable[[], dict[str, int]]:
    """Return how few pods of each workload have been seen ready so far."""
    apps, fewest = AppsV1Api(environment.client), dict.fromkeys(WORKLOADS, REPLICAS)

    def look() -> dict[str, int]:
        for one in apps.list_namespaced_deployment("default").items:
            name, ready = one.metadata.name, one.status.ready_replicas or 0
            fewest[name] = min(fewest[name], ready)
        return fewest

    return look


def _keeps_off(node: Any) -> bool:
    return any(
        (one.key, one.value, one.effect)
        == ("stowage.dev/emptying", "fewer-nodes", "NoSchedule")
        for one in node.spec.taints or ()
    )


def test_half_empty_nodes_are_emptied_within_the_budgets(
    half_empty: ReleaseEnvironment,
) -> None:
    """Installed with its defaults it has done nothing before, and binds no pod."""
    core = half_empty.core
    before = {pod.metadata.name: pod.spec.node_name for pod in _pods(core)}
    _ask(half_empty, "fewer-nodes", executionMode="DryRun")
    proposed = wait_for(half_empty, "fewer-nodes", "Proposed")["status"]

    about = proposed["consolidation"]
    planned = {one["name"] for one in about["nodes"] if one["state"] == "Planned"}
    assert about["certainty"] == "Rehearsed"
    assert about["nodesBefore"] - about["nodesAfter"] == len(planned)
    assert len(planned) >= about["nodesBefore"] - about["nodesLowerBound"] - 1
    assert Decimal(about["hourlySaving"]) == PRICE * len(planned)
    assert proposed["optimal"]
    assert {pod.metadata.name: pod.spec.node_name for pod in _pods(core)} == before
    assert not any(map(_keeps_off, core.list_node().items))

    result = CliRunner().invoke(
        app, ["plan", "approve", "fewer-nodes", "--cluster", half_empty.cluster.name]
    )
    assert result.exit_code == 0, result.output
    look, plans = _fewest_ready(half_empty), PlanApi(half_empty.client)

    def state() -> tuple[str, dict[str, int]]:
        return plans.plan("fewer-nodes")["status"]["phase"], look()

    phase, fewest = wait_until(
        "the nodes to be empty",
        state,
        lambda seen: seen[0] in {"Completed", "Aborted", "Failed"},
        timeout_s=HANG_S,
    )

    done = plans.plan("fewer-nodes")["status"]
    assert phase == "Completed", done["message"]
    used = {pod.spec.node_name for pod in _pods(core)}
    emptied = {one["name"] for one in done["consolidation"]["nodes"]}
    assert emptied == planned
    assert not used & emptied
    assert Decimal(done["consolidation"]["hourlySaving"]) == PRICE * len(emptied)
    assert fewest["web"] >= REPLICAS - ALLOWED
    assert min(fewest.values()) >= REPLICAS - 1
    for node in core.list_node().items:
        name, labels = node.metadata.name, node.metadata.labels
        assert _keeps_off(node) == (name in emptied)
        assert labels.get("stowage.dev/emptied") == (
            "fewer-nodes" if name in emptied else None
        )
        assert ("stowage.dev/emptied-at" in (node.metadata.annotations or {})) == (
            name in emptied
        )
    assert _binders(half_empty) == {"default-scheduler"}


def _binders(environment: ReleaseEnvironment) -> set[str]:
    """Return who says that it has bound a pod of the workloads."""
    return {
        one.reporting_component
        for one in environment.core.list_namespaced_event("default").items
        if one.reason == "Scheduled"
    }
