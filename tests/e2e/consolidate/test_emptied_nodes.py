"""Nodes are emptied beside the stock scheduler, of its pods and of the release's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import psutil
import pytest
from figure_1_cluster import wait_for
from kubernetes.client import ApiException, AppsV1Api, CustomObjectsApi, PolicyV1Api
from release_environment import ReleaseEnvironment, processes_in
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
EMPTYING, EMPTIED = "stowage.dev/emptying", "stowage.dev/emptied"
EMPTIED_AT = "stowage.dev/emptied-at"


@dataclass(frozen=True, slots=True)
class Case:
    """Who places the pods, and what is to become of the nodes."""

    name: str
    scheduler: str
    certainty: str
    emptied: str
    killed: bool = False
    """Whether the release's scheduler is, once the first pod has left."""

    @property
    def plan(self) -> str:
        """The plan's name."""
        return f"fewer-{self.name}"


CASES = [
    Case("stock", "default-scheduler", "Rehearsed", "Taint"),
    Case("killed", "default-scheduler", "Rehearsed", "Taint", killed=True),
    Case("own", "stowage", "Reserved", "Cordon"),
]


def _deployment(name: str, scheduler: str) -> dict[str, Any]:
    container = {
        "name": "c",
        "image": "none",
        "resources": {"requests": {"cpu": "900m", "memory": "1G"}},
    }
    pod = {
        "schedulerName": scheduler,
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
    }
    return {
        "metadata": {"name": name},
        "spec": {
            "replicas": REPLICAS,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": pod},
        },
    }


def _pods(core: Any) -> list[Any]:
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


def _give_back(core: Any) -> None:
    """Make all nodes as they were before any plan."""
    for node in core.list_node().items:
        taints = [one for one in node.spec.taints or () if one.key != EMPTYING]
        if EMPTIED in node.metadata.labels:
            body = {
                "metadata": {"labels": {EMPTIED: None}},
                "spec": {"taints": taints, "unschedulable": None},
            }
            core.patch_node(node.metadata.name, body)


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(
    environment: ReleaseEnvironment, request: pytest.FixtureRequest
) -> Iterator[Case]:
    """Return it once the nodes have two pods each, none too young to be moved."""
    apps: Any = AppsV1Api(environment.client)
    budgets: Any = PolicyV1Api(environment.client)
    core = environment.core
    for name in WORKLOADS:
        deployment = _deployment(name, request.param.scheduler)
        apps.create_namespaced_deployment("default", deployment)
    budget = {
        "metadata": {"name": "web"},
        "spec": {
            "minAvailable": REPLICAS - ALLOWED,
            "selector": {"matchLabels": {"app": "web"}},
        },
    }
    budgets.create_namespaced_pod_disruption_budget("default", budget)
    wait_until("all pods to serve", lambda: _pods(core), _all_serve, timeout_s=HANG_S)
    yield request.param
    for name in WORKLOADS:
        apps.delete_namespaced_deployment(name, "default")
    budgets.delete_namespaced_pod_disruption_budget("web", "default")
    wait_until(
        "the pods to be gone",
        lambda: core.list_namespaced_pod("default").items,
        lambda pods: not pods,
        timeout_s=HANG_S,
    )
    _give_back(core)


def _ask(environment: ReleaseEnvironment, name: str, **spec: object) -> None:
    CustomObjectsApi(environment.client).create_cluster_custom_object(
        *PLANS,
        {
            "apiVersion": "stowage.dev/v1alpha1",
            "kind": "PackingPlan",
            "metadata": {"name": name},
            "spec": spec,
        },
    )


def _ready_at_least(environment: ReleaseEnvironment) -> Callable[[], dict[str, int]]:
    """Return how few pods of each workload have been seen ready so far."""
    apps: Any = AppsV1Api(environment.client)
    fewest = dict.fromkeys(WORKLOADS, REPLICAS)

    def look() -> dict[str, int]:
        for one in apps.list_namespaced_deployment("default").items:
            name, ready = one.metadata.name, one.status.ready_replicas or 0
            fewest[name] = min(fewest[name], ready)
        return fewest

    return look


def _keeps_off(node: Any, case: Case) -> bool:
    """Return whether the plan keeps new pods off the node, in the way asked for."""
    tainted = any(
        (one.key, one.value, one.effect) == (EMPTYING, case.plan, "NoSchedule")
        for one in node.spec.taints or ()
    )
    cordoned = bool(node.spec.unschedulable)
    return (tainted, cordoned) == (case.emptied == "Taint", case.emptied == "Cordon")


def _schedulers(environment: ReleaseEnvironment) -> list[psutil.Process]:
    """Return the release's scheduler."""
    return [
        process
        for process in processes_in(environment.cluster.workdir)
        if process.name().startswith("stowage-schedul")
    ]


def _binders(environment: ReleaseEnvironment) -> set[str]:
    """Return who says that it has bound one of the pods that there are."""
    pods = {pod.metadata.name for pod in _pods(environment.core)}
    return {
        one.reporting_component
        for one in environment.core.list_namespaced_event("default").items
        if one.reason == "Scheduled" and one.involved_object.name in pods
    }


def test_half_empty_nodes_are_emptied_within_the_budgets(
    environment: ReleaseEnvironment, case: Case
) -> None:
    """A dry run does nothing; approved, the pods' own scheduler places all of them."""
    core = environment.core
    before = {pod.metadata.name: pod.spec.node_name for pod in _pods(core)}
    _ask(
        environment,
        case.plan,
        objective="Consolidate",
        schedulerNames=[case.scheduler],
        emptiedNodes=case.emptied,
        timeLimitSeconds=10,
    )
    proposed = wait_for(environment, case.plan, "Proposed")["status"]

    about = proposed["consolidation"]
    planned = {one["name"] for one in about["nodes"] if one["state"] == "Planned"}
    assert about["certainty"] == case.certainty
    assert about["nodesBefore"] - about["nodesAfter"] == len(planned)
    assert len(planned) >= about["nodesBefore"] - about["nodesLowerBound"] - 1
    assert Decimal(about["hourlySaving"]) == PRICE * len(planned)
    assert {pod.metadata.name: pod.spec.node_name for pod in _pods(core)} == before
    assert not any(_keeps_off(node, case) for node in core.list_node().items)

    result = CliRunner().invoke(
        app, ["plan", "approve", case.plan, "--cluster", environment.cluster.name]
    )
    assert result.exit_code == 0, result.output
    look, plans = _ready_at_least(environment), PlanApi(environment.client)
    if case.killed:
        wait_until(
            "a pod to have left",
            lambda: plans.plan(case.plan)["status"]["moves"],
            lambda moves: any(one["state"] != "Waiting" for one in moves),
            timeout_s=HANG_S,
        )
        (scheduler,) = _schedulers(environment)
        scheduler.kill()
        assert plans.plan(case.plan)["status"]["phase"] == "Executing"
    phase, fewest = wait_until(
        "the nodes to be empty",
        lambda: (plans.plan(case.plan)["status"]["phase"], look()),
        lambda seen: seen[0] in {"Completed", "Aborted", "Failed"},
        timeout_s=HANG_S,
    )

    done = plans.plan(case.plan)["status"]
    assert phase == "Completed", done["message"]
    used = {pod.spec.node_name for pod in _pods(core)}
    emptied = {
        one["name"]
        for one in done["consolidation"]["nodes"]
        if one["state"] == "Emptied"
    }
    assert emptied == planned, done["consolidation"]["nodes"]
    assert not used & emptied
    assert Decimal(done["consolidation"]["hourlySaving"]) == PRICE * len(emptied)
    assert fewest["web"] >= REPLICAS - ALLOWED
    assert min(fewest.values()) >= REPLICAS - 1
    for node in core.list_node().items:
        name, labels = node.metadata.name, node.metadata.labels
        assert _keeps_off(node, case) == (name in emptied)
        assert labels.get(EMPTIED) == (case.plan if name in emptied else None)
        if name in emptied:
            assert EMPTIED_AT in node.metadata.annotations
    assert _binders(environment) == {case.scheduler}


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"leastGain": "much"}, "leastGain"),
        ({"maxMoves": 0}, "maxMoves"),
        ({"schedulerNames": []}, "schedulerNames"),
        ({"objective": "Place", "leastGain": "1"}, "are for plans with the objective"),
    ],
)
def test_what_makes_no_sense_is_refused(
    environment: ReleaseEnvironment, spec: dict[str, object], reason: str
) -> None:
    """The fault is named to the caller, since no plan is there to show it."""
    with pytest.raises(ApiException) as refused:
        _ask(environment, "refused", **{"objective": "Consolidate", **spec})

    assert reason in str(refused.value.body)


def test_what_was_asked_for_cannot_be_changed(environment: ReleaseEnvironment) -> None:
    """Who approves a plan must know that it is the one that was reviewed."""
    plans: Any = CustomObjectsApi(environment.client)
    asked = {"nodeSelector": {"matchLabels": {"pool": "none"}}, "leastGain": "0.5"}
    _ask(environment, "fixed", objective="Consolidate", **asked)

    for change in (
        {"leastGain": "0.1"},
        {"nodeSelector": {"matchLabels": {"pool": "other"}}},
        {"schedulerNames": ["default-scheduler"]},
        {"objective": None},
    ):
        with pytest.raises(ApiException) as refused:
            plans.patch_cluster_custom_object(*PLANS, "fixed", {"spec": change})
        assert "cannot be changed" in str(refused.value.body)
