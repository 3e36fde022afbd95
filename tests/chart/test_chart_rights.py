"""What the release may do, read from the rendered chart."""

from __future__ import annotations

import itertools

import pytest
from chart_render import PROFILES, of_kind, render, scheduler_config

pytestmark = pytest.mark.chart

EVERYTHING_ON = (
    "scheduler.metrics.enabled=true",
    "scheduler.metrics.serviceMonitor.enabled=true",
    "podDisruptionBudget.enabled=true",
    "networkPolicy.enabled=true",
)
Right = tuple[str, str, str]


GET, LIST, WATCH, CREATE = "get", "list", "watch", "create"
READ = {GET, LIST, WATCH}
CREATE_PODS, DELETE_PODS = ("", "pods", CREATE), ("", "pods", "delete")
PATCH_NODES = ("", "nodes", "patch")


def rights(*settings: str) -> set[Right]:
    """Return every (group, resource, verb) that a role of the release grants."""
    return {
        right
        for role in of_kind(render(*settings), "Role", "ClusterRole")
        for rule in role["rules"]
        for right in itertools.product(
            rule["apiGroups"], rule["resources"], rule["verbs"]
        )
    }


@pytest.mark.parametrize("profile", PROFILES)
def test_no_right_is_a_wildcard_nor_one_to_delete_pods_or_read_secrets(
    profile: str,
) -> None:
    """Evictions go through the API that keeps disruption budgets."""
    granted = rights(f"profile={profile}", *EVERYTHING_ON)

    assert granted
    assert not [right for right in granted if "*" in "".join(right)]
    assert not granted & {DELETE_PODS, ("", "pods", "deletecollection")}
    assert not [right for right in granted if right[1] == "secrets"]
    # It deletes pods, which the chart otherwise never does.
    assert DELETE_PODS in rights("profile=default", "rbac.allowPreemption=true")


@pytest.mark.parametrize(
    ("gates", "granted"),
    [
        ({}, False),
        ({"GenericWorkload": True}, True),
        ({"AllBeta": True}, True),
        ({"AllBeta": True, "GenericWorkload": False}, False),
    ],
)
def test_pod_groups_are_read_where_a_gate_schedules_them(
    gates: dict[str, bool], granted: bool
) -> None:
    """The scheduler is never ready without; elsewhere it is a right for nothing."""
    settings = [
        f"scheduler.featureGates.{gate}={str(on).lower()}" for gate, on in gates.items()
    ]
    group = "scheduling.k8s.io"
    wanted = {(group, "podgroups", verb) for verb in READ}
    wanted |= {(group, "podgroups/status", verb) for verb in ("patch", "update")}

    of_groups = {right for right in rights(*settings) if right[0] == group}

    assert of_groups == (wanted if granted else set())


def test_nodes_are_patched_only_where_plans_may_empty_them() -> None:
    """A right to patch a node is one to any field of it."""
    by_default, without = rights(), rights("consolidation.enabled=false")
    # ``helm upgrade --reuse-values`` has none of the values that are new.
    reused = rights("profile=optimizer", "consolidation=null")

    assert by_default - without == {PATCH_NODES}
    assert PATCH_NODES not in rights("profile=default") | reused
    assert {v for _, r, v in by_default if r == "nodes"} == READ | {"patch"}
    assert ("stowage.dev", "packingplans", "patch") in reused


def test_workloads_are_read_only() -> None:
    """A scheduler that can change workloads can do anything."""
    granted = rights(*EVERYTHING_ON)
    read_only = {"namespaces", "services", "replicasets", "statefulsets"}

    assert {v for _, r, v in granted if r in read_only} == READ
    assert {v for g, r, v in granted if (g, r) == ("", "pods")} == READ


@pytest.mark.parametrize("profile", ["default", "deterministic", "score-cache"])
def test_only_profiles_with_the_optimiser_may_evict(profile: str) -> None:
    """A right that the profile does not use is one too many."""
    plain = rights(f"profile={profile}")

    assert not [one for one in plain if "eviction" in one[1] or one[0] == "stowage.dev"]
    assert rights("profile=optimizer") >= {
        ("", "pods/eviction", CREATE),
        ("stowage.dev", "packingplans/status", "patch"),
    }


def test_what_decides_about_replacements_is_only_watched_and_only_where_pods_move() -> (
    None
):
    """A plan must know who would not come back; nobody else needs these rights."""

    def watched(*kinds: tuple[str, str]) -> set[Right]:
        return {(*kind, verb) for kind in kinds for verb in (LIST, WATCH)}

    without_jobs = watched(
        ("", "resourcequotas"), ("", "limitranges"), ("apps", "deployments")
    )
    jobs = watched(("batch", "jobs"))
    kinds = {right[1] for right in without_jobs | jobs}

    for settings, wanted in (
        (["profile=default"], set()),
        (["profile=optimizer"], without_jobs),
        (
            ["profile=optimizer", "priorityOptimizer.evictJobs=true"],
            without_jobs | jobs,
        ),
    ):
        assert {one for one in rights(*settings) if one[1] in kinds} == wanted


def test_pods_may_be_created_only_where_replacements_are_asked_about() -> None:
    """The right cannot be limited to dry runs, so nobody has it unasked."""
    asks = "priorityOptimizer.dryRunReplacements=true"

    assert CREATE_PODS not in rights("profile=optimizer", *EVERYTHING_ON)
    assert CREATE_PODS not in rights("profile=default", asks)
    assert CREATE_PODS in rights("profile=optimizer", asks)


def test_metrics_bring_only_the_rights_to_check_callers() -> None:
    """Where only health is served, nobody has to be authenticated."""
    assert rights("scheduler.metrics.enabled=true") - rights() == {
        ("authentication.k8s.io", "tokenreviews", CREATE),
        ("authorization.k8s.io", "subjectaccessreviews", CREATE),
    }


def test_the_lease_is_bound_to_its_name() -> None:
    """Another component's lease in the namespace must stay out of reach."""
    (role,) = of_kind(render(), "Role")
    (named,) = [rule for rule in role["rules"] if rule["verbs"] != [CREATE]]

    assert named["resourceNames"] == ["stowage"]
    assert not of_kind(render("scheduler.leaderElection.enabled=false"), "Role")


@pytest.mark.parametrize("profile", PROFILES)
def test_a_scheduler_that_may_not_delete_pods_does_not_try(profile: str) -> None:
    """It would choose the same victims again, dozens of times a second."""

    def disabled(*settings: str) -> list[str]:
        config = scheduler_config(render(f"profile={profile}", *settings))
        (one,) = config["profiles"]
        plugins = one.get("plugins", {}).get("multiPoint", {})
        return [plugin["name"] for plugin in plugins.get("disabled", ())]

    assert disabled().count("DefaultPreemption") == 1
    stays = profile in {"default", "score-cache"}
    allowed = disabled("rbac.allowPreemption=true")
    assert ("DefaultPreemption" not in allowed) == stays


def test_every_binding_names_the_releases_own_account() -> None:
    """A right for another account would leak."""
    bindings = of_kind(render(*EVERYTHING_ON), "RoleBinding", "ClusterRoleBinding")

    assert bindings
    for binding in bindings:
        assert binding["subjects"] == [
            {"kind": "ServiceAccount", "name": "stowage", "namespace": "ns"}
        ]
