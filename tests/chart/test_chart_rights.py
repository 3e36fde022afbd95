"""What the release may do, read from the rendered chart."""

import itertools
from pathlib import Path

import pytest
import yaml
from chart_render import PROFILES, of_kind, render, scheduler_config

pytestmark = pytest.mark.chart

RIGHTS = yaml.safe_load(Path(__file__).with_name("rights.yaml").read_text())
TAKEN_AWAY = {"nodes are left alone", "no lease"}
METRICS = "scheduler.metrics.enabled=true"
GATES = "scheduler.featureGates"
EVERYTHING_ON = (
    METRICS,
    "scheduler.metrics.serviceMonitor.enabled=true",
    "podDisruptionBudget.enabled=true",
    "networkPolicy.enabled=true",
)
Right = tuple[str, str, str]


def rights(*settings: str) -> set[Right]:
    """Return every (group, resource, verb) that a role of the release grants."""
    return {
        right
        for role in of_kind(render(*settings), "Role", "ClusterRole")
        for rule in role["rules"]
        for right in itertools.product(rule["apiGroups"], rule["resources"], rule["verbs"])
    }


def written(name: str) -> set[Right]:
    """Return the rights of a name, as the table has them."""
    return {
        (group, resource, verb)
        for verbs, kinds in RIGHTS[name].items()
        for resource, _, group in (kind.partition(".") for kind in kinds)
        for verb in verbs.split()
    }


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_has_the_rights_that_it_uses_and_no_other(profile: str) -> None:
    """One that is missing breaks the scheduler only when it is first used."""
    wanted = written("every profile")
    if profile.startswith("optimizer"):
        wanted |= written("the optimiser")

    assert rights(f"profile={profile}") == wanted


PLANS = "priorityOptimizer"


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (EVERYTHING_ON, "callers are checked"),
        ([f"{PLANS}.evictJobs=true"], "jobs move"),
        ([f"{PLANS}.dryRunReplacements=true"], "replacements are asked about"),
        (["rbac.allowPreemption=true"], "pods are preempted"),
        ([f"{GATES}.GenericWorkload=true"], "gangs"),
        ([f"{GATES}.AllBeta=true"], "gangs"),
        ([f"{GATES}.AllBeta=true", f"{GATES}.GenericWorkload=false"], ""),
        (["consolidation.enabled=false"], "nodes are left alone"),
        # ``helm upgrade --reuse-values`` has none of the values that are new.
        (["consolidation=null"], "nodes are left alone"),
        (["scheduler.leaderElection.enabled=false"], "no lease"),
    ],
)
def test_a_setting_changes_only_the_rights_that_it_is_about(settings: list[str], name: str) -> None:
    """A right that nothing uses is one too many."""
    before, after = rights(), rights(*settings)

    assert after ^ before == (written(name) if name else set())
    assert (after < before) == (name in TAKEN_AWAY)


@pytest.mark.parametrize("setting", ["evictJobs", "dryRunReplacements"])
def test_without_the_optimiser_its_settings_grant_nothing(setting: str) -> None:
    """Nobody moves pods there."""
    assert rights("profile=default", f"{PLANS}.{setting}=true") == (written("every profile"))


def test_the_lease_is_bound_to_its_name() -> None:
    """Another component's lease in the namespace must stay out of reach."""
    (role,) = of_kind(render(), "Role")
    (named,) = [rule for rule in role["rules"] if rule["verbs"] != ["create"]]

    assert named["resourceNames"] == ["stowage"]


@pytest.mark.parametrize("profile", PROFILES)
def test_a_scheduler_that_may_not_delete_pods_does_not_try(profile: str) -> None:
    """It would choose the same victims again, dozens of times a second."""

    def disabled(*settings: str) -> list[str]:
        config = scheduler_config(render(f"profile={profile}", *settings))
        (one,) = config["profiles"]
        plugins = one.get("plugins", {}).get("multiPoint", {})
        return [plugin["name"] for plugin in plugins.get("disabled", ())]

    assert disabled().count("DefaultPreemption") == 1
    stays = profile in {"default", "devices", "score-cache"}
    allowed = disabled("rbac.allowPreemption=true")
    assert ("DefaultPreemption" not in allowed) == stays


def test_roles_and_bindings_are_the_releases_own() -> None:
    """A right for another account would leak.

    Nor may two releases of one name in two namespaces share a role.
    """
    objects = render(*EVERYTHING_ON)
    (role,) = of_kind(objects, "ClusterRole")
    bindings = of_kind(objects, "RoleBinding", "ClusterRoleBinding")

    assert role["metadata"]["name"] == "ns:stowage"
    assert bindings
    for binding in bindings:
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "stowage", "namespace": "ns"}]
