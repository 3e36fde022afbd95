"""Policies that ask for plans: what the API server refuses, and a night by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import figure_1_cluster
import pytest
from figure_1_cluster import nodes, wait_for
from kubernetes.client import ApiException, AppsV1Api, CustomObjectsApi
from release_environment import ReleaseEnvironment

from stowage_testbed.plan import PlanApi
from stowage_testbed.wait import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.smoke]

POLICIES = ("stowage.dev", "v1alpha1", "packingpolicies")
WINDOW = {"schedule": "@daily", "durationSeconds": 86400}
NEVER = {"schedule": "0 0 29 2 *", "durationSeconds": 10}


def _create(environment: ReleaseEnvironment, name: str, **spec: object) -> Any:
    return CustomObjectsApi(environment.client).create_cluster_custom_object(
        *POLICIES,
        {
            "apiVersion": "stowage.dev/v1alpha1",
            "kind": "PackingPolicy",
            "metadata": {"name": name},
            "spec": {"objective": "Consolidate", "windows": [NEVER]} | spec,
        },
    )


def _reaches(environment: ReleaseEnvironment, name: str, reason: str) -> Any:
    """Return the policy once it says for that reason that it makes a plan, or none."""
    policies: Any = CustomObjectsApi(environment.client)

    def planning(policy: Any) -> str:
        conditions = policy.get("status", {}).get("conditions", ())
        return "".join(one["reason"] for one in conditions if one["type"] == "Planning")

    return wait_until(
        f"policy {name} to say {reason}",
        lambda: policies.get_cluster_custom_object(*POLICIES, name),
        lambda policy: planning(policy) == reason,
        timeout_s=20,
    )


@pytest.fixture
def without_policies(environment: ReleaseEnvironment) -> Iterator[ReleaseEnvironment]:
    """Return the cluster; afterwards no policy is left, and no plan of one."""
    yield environment
    policies: Any = CustomObjectsApi(environment.client)
    for one in policies.list_cluster_custom_object(*POLICIES)["items"]:
        policies.delete_cluster_custom_object(*POLICIES, one["metadata"]["name"])


@pytest.fixture
def half_empty(without_policies: ReleaseEnvironment) -> Iterator[ReleaseEnvironment]:
    """Return two nodes of 4 GB with a pod of 2 GB on each."""
    apps: Any = AppsV1Api(without_policies.client)
    figure_1_cluster.fill(without_policies)
    apps.delete_namespaced_replica_set("third", "default")
    wait_until(
        "the waiting pod to be gone",
        lambda: nodes(without_policies),
        lambda on: len(on) == 2,
        timeout_s=20,
    )
    yield without_policies
    for name in ("first", "second"):
        apps.delete_namespaced_replica_set(name, "default")
    wait_until(
        "the pods to be gone",
        lambda: nodes(without_policies),
        lambda on: not on,
        timeout_s=20,
    )


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"timeZone": "Middle/Earth"}, "must be an IANA time zone"),
        ({"timeZone": "Local"}, "must be an IANA time zone"),
        ({"windows": []}, "should have at least 1 items"),
        ({"windows": [WINDOW | {"schedule": "0 2 * *"}]}, "spec.windows[0].schedule"),
        ({"windows": [WINDOW | {"schedule": "@every 1h"}]}, "spec.windows[0].schedule"),
        ({"windows": [WINDOW | {"durationSeconds": 0}]}, "durationSeconds"),
        ({"budget": {"maxMovesPerWindow": 5}}, "must not exceed"),
        ({"budget": {"maxMovesPerPlan": 0}}, "maxMovesPerPlan"),
        ({"minGainPerMove": -1}, "minGainPerMove"),
        ({"objective": "Tidy"}, 'Unsupported value: \\"Tidy\\"'),
        ({"approval": "Sometimes"}, 'Unsupported value: \\"Sometimes\\"'),
    ],
)
def test_what_the_kind_does_not_allow_is_refused(
    without_policies: ReleaseEnvironment, spec: dict[str, object], reason: str
) -> None:
    """A policy that never does what was meant is worse than none."""
    with pytest.raises(ApiException) as refused:
        _create(without_policies, "refused", **spec)

    assert reason in str(refused.value.body)


def test_a_name_that_is_too_long_for_a_label_is_refused(
    without_policies: ReleaseEnvironment,
) -> None:
    """The plans carry it as a label."""
    _create(without_policies, "a" * 63)
    with pytest.raises(ApiException) as refused:
        _create(without_policies, "a" * 64)

    assert "at most 63 characters" in str(refused.value.body)


def test_what_is_left_out_is_harmless(without_policies: ReleaseEnvironment) -> None:
    """Plans wait for approval, and move few pods, none of them twice in an hour."""
    spec = _create(without_policies, "short")["spec"]

    assert spec == {
        "objective": "Consolidate",
        "windows": [NEVER],
        "approval": "Manual",
        "suspend": False,
        "timeZone": "Etc/UTC",
        "intervalSeconds": 600,
        "budget": {"maxMovesPerWindow": 100, "maxMovesPerPlan": 20},
        "minGainPerMove": 0.1,
        "coolDownSeconds": 3600,
    }
    status = _reaches(without_policies, "short", "WindowClosed")["status"]
    assert status["nextWindow"]["opens"].endswith("-02-29T00:00:00Z")
    plans = PlanApi(without_policies.client).plans()
    assert not [one for one in plans if "ownerReferences" in one["metadata"]]


def test_a_schedule_that_never_comes_is_said_in_the_status(
    without_policies: ReleaseEnvironment,
) -> None:
    """The API server knows the form of a schedule, not what it means."""
    _create(without_policies, "lost", windows=[WINDOW | {"schedule": "0 0 30 2 *"}])

    policy = _reaches(without_policies, "lost", "Invalid")

    (valid,) = (one for one in policy["status"]["conditions"] if one["type"] == "Valid")
    assert valid["status"] == "False"
    assert "windows[0].schedule" in valid["message"]


def test_a_policys_plan_waits_is_approved_and_counted(
    half_empty: ReleaseEnvironment,
) -> None:
    """The way to trust it: see what it would do, let it, see what it did."""
    before = nodes(half_empty)
    _create(half_empty, "by-hand", windows=[WINDOW], coolDownSeconds=0)
    policy = _reaches(half_empty, "by-hand", "AwaitsApproval")
    name = policy["status"]["lastPlan"]["name"]
    proposed = PlanApi(half_empty.client).plan(name)

    assert nodes(half_empty) == before
    assert len(set(before.values())) == 2
    assert proposed["metadata"]["labels"] == {"stowage.dev/packing-policy": "by-hand"}
    (owner,) = proposed["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("PackingPolicy", "by-hand")
    assert proposed["status"]["nodesInUse"] == {
        "before": 2 + _others(proposed),
        "after": 1 + _others(proposed),
        "lowerBound": 1 + _others(proposed),
        "movesLowerBound": 1,
    }

    PlanApi(half_empty.client).approve(name)
    wait_for(half_empty, name, "Completed")
    status = _reaches(half_empty, "by-hand", "Interval")["status"]

    assert len(set(nodes(half_empty).values())) == 1
    assert status["lastPlan"]["phase"] == "Completed"
    window = status["window"]
    counts = {key: window[key] for key in ("plans", "moves", "nodesEmptied")}
    assert counts == {"plans": 1, "moves": 1, "nodesEmptied": 1}
    told: Any = half_empty.core.list_event_for_all_namespaces(
        field_selector="involvedObject.kind=PackingPolicy"
    )
    assert {"WindowOpened", "PlanCreated", "PlanCompleted"} <= {
        one.reason for one in told.items if one.involved_object.name == "by-hand"
    }


def _others(plan: Any) -> int:
    """Return the nodes beside the two: that of the release itself."""
    return int(plan["status"]["nodesInUse"]["before"]) - 2


def test_plans_go_with_their_policy(half_empty: ReleaseEnvironment) -> None:
    """Nobody has to tidy up after a policy."""
    _create(half_empty, "gone", windows=[WINDOW], coolDownSeconds=0)
    name = _reaches(half_empty, "gone", "AwaitsApproval")["status"]["lastPlan"]["name"]

    policies: Any = CustomObjectsApi(half_empty.client)
    policies.delete_cluster_custom_object(*POLICIES, "gone")

    wait_until(
        "the plan to be gone",
        lambda: [one["metadata"]["name"] for one in PlanApi(half_empty.client).plans()],
        lambda names: name not in names,
        timeout_s=30,
    )
