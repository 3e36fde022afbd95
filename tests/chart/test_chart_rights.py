"""What the release may do, read from the rendered chart."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from chart_render import PROFILES, Manifest, of_kind, render, scheduler_config

pytestmark = pytest.mark.chart

EVERYTHING_ON = (
    "scheduler.metrics.enabled=true",
    "scheduler.metrics.serviceMonitor.enabled=true",
    "podDisruptionBudget.enabled=true",
    "networkPolicy.enabled=true",
)
Right = tuple[str, str, str]


def rights(objects: list[Manifest]) -> Iterator[Right]:
    """Yield every (group, resource, verb) that a role grants."""
    for role in of_kind(objects, "Role", "ClusterRole"):
        for rule in role["rules"]:
            yield from itertools.product(
                rule["apiGroups"], rule["resources"], rule["verbs"]
            )


@pytest.mark.parametrize("profile", PROFILES)
def test_no_right_is_a_wildcard(profile: str) -> None:
    """A wildcard grants what does not even exist yet."""
    granted = set(rights(render(f"profile={profile}", *EVERYTHING_ON)))

    assert not [right for right in granted if "*" in "".join(right)]


@pytest.mark.parametrize("profile", PROFILES)
def test_pods_cannot_be_deleted_and_secrets_not_read(profile: str) -> None:
    """Evictions go through the API that keeps disruption budgets."""
    granted = set(rights(render(f"profile={profile}", *EVERYTHING_ON)))

    assert ("", "pods", "delete") not in granted
    assert ("", "pods", "deletecollection") not in granted
    assert not [right for right in granted if right[1] == "secrets"]


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
    wanted = {(group, "podgroups", verb) for verb in ("get", "list", "watch")}
    wanted |= {(group, "podgroups/status", verb) for verb in ("patch", "update")}

    of_groups = {right for right in rights(render(*settings)) if right[0] == group}

    assert of_groups == (wanted if granted else set())


def test_nodes_are_patched_only_where_plans_may_empty_them() -> None:
    """A right to patch a node is one to any field of it."""
    patch, off = ("", "nodes", "patch"), "consolidation.enabled=false"
    by_default, without = set(rights(render())), set(rights(render(off)))

    assert by_default - without == {patch}
    assert patch not in set(rights(render("profile=default")))
    assert {v for _, r, v in by_default if r == "nodes"} - {"patch"} == {
        "get",
        "list",
        "watch",
    }


def test_workloads_are_read_only() -> None:
    """A scheduler that can change workloads can do anything."""
    granted = set(rights(render(*EVERYTHING_ON)))
    read_only = {"namespaces", "services", "replicasets", "statefulsets"}

    assert {v for _, r, v in granted if r in read_only} == {"get", "list", "watch"}
    assert {v for g, r, v in granted if (g, r) == ("", "pods")} == {
        "get",
        "list",
        "watch",
    }


@pytest.mark.parametrize("profile", ["default", "deterministic", "score-cache"])
def test_only_profiles_with_the_optimiser_may_evict(profile: str) -> None:
    """A right that the profile does not use is one too many."""
    plain = set(rights(render(f"profile={profile}")))
    with_optimiser = set(rights(render("profile=optimizer")))

    assert not [right for right in plain if "eviction" in right[1]]
    assert not [right for right in plain if right[0] == "stowage.dev"]
    assert ("", "pods/eviction", "create") in with_optimiser
    assert ("stowage.dev", "packingplans/status", "patch") in with_optimiser


def test_what_decides_about_replacements_is_only_watched_and_only_where_pods_move() -> (
    None
):
    """A plan must know who would not come back; nobody else needs these rights."""
    kinds = {"resourcequotas", "limitranges", "deployments", "jobs"}

    def of_kinds(*values: str) -> set[Right]:
        return {right for right in rights(render(*values)) if right[1] in kinds}

    without_jobs = {
        (group, kind, verb)
        for group, kind in (
            ("", "resourcequotas"),
            ("", "limitranges"),
            ("apps", "deployments"),
        )
        for verb in ("list", "watch")
    }
    jobs = {("batch", "jobs", "list"), ("batch", "jobs", "watch")}

    assert of_kinds("profile=default") == set()
    assert of_kinds("profile=optimizer") == without_jobs
    assert of_kinds("profile=optimizer", "priorityOptimizer.evictJobs=true") == (
        without_jobs | jobs
    )


def test_pods_may_be_created_only_where_replacements_are_asked_about() -> None:
    """The right cannot be limited to dry runs, so nobody has it unasked."""
    create = ("", "pods", "create")
    asks = "priorityOptimizer.dryRunReplacements=true"

    assert create not in set(rights(render("profile=optimizer", *EVERYTHING_ON)))
    assert create not in set(rights(render("profile=default", asks)))
    assert create in set(rights(render("profile=optimizer", asks)))


def test_metrics_bring_only_the_rights_to_check_callers() -> None:
    """Where only health is served, nobody has to be authenticated."""
    without = set(rights(render()))
    extra = set(rights(render("scheduler.metrics.enabled=true"))) - without

    assert extra == {
        ("authentication.k8s.io", "tokenreviews", "create"),
        ("authorization.k8s.io", "subjectaccessreviews", "create"),
    }


def test_the_lease_is_bound_to_its_name() -> None:
    """Another component's lease in the namespace must stay out of reach."""
    (role,) = of_kind(render(), "Role")
    (named,) = [rule for rule in role["rules"] if rule["verbs"] != ["create"]]

    assert named["resourceNames"] == ["stowage"]
    assert not of_kind(render("scheduler.leaderElection.enabled=false"), "Role")


def test_stock_preemption_is_allowed_only_on_request() -> None:
    """It deletes pods, which the chart otherwise never does."""
    asked = set(rights(render("profile=default", "rbac.allowPreemption=true")))

    assert ("", "pods", "delete") in asked


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
    objects = render(*EVERYTHING_ON)
    bindings = of_kind(objects, "RoleBinding", "ClusterRoleBinding")

    assert bindings
    for binding in bindings:
        assert binding["subjects"] == [
            {"kind": "ServiceAccount", "name": "stowage", "namespace": "ns"}
        ]


def test_values_of_the_version_before_still_render() -> None:
    """``helm upgrade --reuse-values`` has none of those that are new."""
    granted = set(rights(render("profile=optimizer", "consolidation=null")))

    assert ("", "nodes", "patch") not in granted
    assert ("stowage.dev", "packingplans", "patch") in granted
