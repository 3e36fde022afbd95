"""Every profile under the gates that a cluster may have on and upstream leaves off."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from chart_render import PROFILES
from figure_1_cluster import empty, fill, nodes, wait_for
from gangs import (
    Gang,
    create_gang,
    is_refused_whole,
    members,
    remove_gang,
    until_bound,
)
from kubernetes.client import CustomObjectsApi
from release_environment import ReleaseEnvironment
from serving_release import check_release_serves

from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.helm import Release, install_release
from stowage_testbed.simulate import NO_PROTECTION

pytestmark = pytest.mark.e2e

FITS = Gang("fits", memory="500M")
TOO_LARGE = Gang("large", memory="2G")
"""Two of the three fit on the node, and one beside the other gang."""


EVERY_CHANGE = {"optimizer", "score-cache"}
"""The profiles that every change is tried with; between them they have all plugins."""


def of_profiles(names: Iterable[str]) -> pytest.MarkDecorator:
    """Parametrize a test by profile; all but a few wait for the night."""
    return pytest.mark.parametrize(
        "profile",
        [
            pytest.param(name, marks=[pytest.mark.nightly] * (name not in EVERY_CHANGE))
            for name in names
        ],
    )


def _install(environment: ReleaseEnvironment, profile: str, gate: str) -> Release:
    values: dict[str, object] = {"scheduler": {"featureGates": {gate: True}}}
    if profile.startswith("optimizer"):
        values["priorityOptimizer"] = {
            "trigger": "Manual",
            "coolDownSeconds": 0,
            **NO_PROTECTION,
        }
    return install_release(
        environment.cluster,
        profile=profile,
        optimizer_enabled=profile.startswith("optimizer"),
        values=values,
    )


@of_profiles(PROFILES)
def test_every_profile_places_pods_with_all_beta_features_on(
    with_all_beta: ReleaseEnvironment, profile: str
) -> None:
    """What a gate changes at start no compiler sees: a panic, or a kind to watch."""
    release = _install(with_all_beta, profile, "AllBeta")

    check_release_serves(with_all_beta, release)


@of_profiles(PROFILES)
def test_gangs_are_left_to_the_stock_plugins(
    with_pod_groups: ReleaseEnvironment, profile: str
) -> None:
    """All of a gang is placed or none, as if none of our plugins were there."""
    release = _install(with_pod_groups, profile, "GenericWorkload")

    check_release_serves(with_pod_groups, release)
    create_gang(with_pod_groups, FITS)
    until_bound(with_pod_groups, FITS)
    create_gang(with_pod_groups, TOO_LARGE)
    wait_until(
        "the gang that is too large to be refused",
        lambda: members(with_pod_groups, TOO_LARGE),
        is_refused_whole,
        timeout_s=HANG_S,
    )

    for gang in (FITS, TOO_LARGE):
        remove_gang(with_pod_groups, gang)


@of_profiles(one for one in PROFILES if one.startswith("optimizer"))
def test_gangs_are_left_alone_while_a_plan_is_carried_out(
    with_pod_groups: ReleaseEnvironment, profile: str
) -> None:
    """The plan names them, moves none, and lets them pass where it needs no room."""
    _install(with_pod_groups, profile, "GenericWorkload")
    create_gang(with_pod_groups, TOO_LARGE)
    fill(with_pod_groups)
    _keep_terminating(with_pod_groups, finalizers=["example.com/kept"])
    name = f"beside-{profile}"
    _ask(with_pod_groups, name)
    wait_for(with_pod_groups, name, "Executing")

    create_gang(with_pod_groups, FITS)
    until_bound(with_pod_groups, FITS)

    under_way = wait_for(with_pod_groups, name, "Executing")
    assert nodes(with_pod_groups)["third"] == ""
    assert is_refused_whole(members(with_pod_groups, TOO_LARGE))
    assert [one for one in under_way["status"]["refusals"] if "pod-group" in str(one)]
    _keep_terminating(with_pod_groups, finalizers=None)
    done = wait_for(with_pod_groups, name, "Completed")
    moved = [one["pod"] for one in done["status"]["moves"]]
    assert not [pod for pod in moved if "fits" in pod or "large" in pod]
    assert nodes(with_pod_groups)["third"]
    assert is_refused_whole(members(with_pod_groups, TOO_LARGE))
    for gang in (FITS, TOO_LARGE):
        remove_gang(with_pod_groups, gang)
    empty(with_pod_groups)


def _keep_terminating(
    environment: ReleaseEnvironment, *, finalizers: list[str] | None
) -> None:
    """Have the pods of figure 1 stay while they terminate, or let them go."""
    listed = environment.core.list_namespaced_pod(
        "default", label_selector="app in (first, second)"
    )
    for pod in listed.items:
        environment.core.patch_namespaced_pod(
            pod.metadata.name, "default", {"metadata": {"finalizers": finalizers}}
        )


def _ask(environment: ReleaseEnvironment, name: str) -> None:
    CustomObjectsApi(environment.client).create_cluster_custom_object(
        *("stowage.dev", "v1alpha1", "packingplans"),
        {
            "apiVersion": "stowage.dev/v1alpha1",
            "kind": "PackingPlan",
            "metadata": {"name": name},
            "spec": {"executionMode": "Execute"},
        },
    )
