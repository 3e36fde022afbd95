"""Each minor's rights, and every profile under gates that upstream leaves off."""

import secrets
from collections.abc import Iterator

import pytest
from amounts import size
from chart_render import PROFILES
from figure_1_cluster import wait_for
from gangs_and_rights import (
    Gang,
    check_release_serves,
    create_gang,
    is_refused_whole,
    members,
    remove_gang,
    until_bound,
)
from release_environment import ReleaseEnvironment

from stowage_testbed.api.objects import Objects, make_manifest
from stowage_testbed.base.wait import wait_until
from stowage_testbed.cluster import KwokBinaryCluster, NodePool, create_nodes
from stowage_testbed.cluster.feature_gates import make_gates
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.cluster.node_pool import Taint
from stowage_testbed.helm import install_release, uninstall_release
from stowage_testbed.toolchain import choose_minor
from stowage_testbed.toolchain.manifest import built_minors

pytestmark = pytest.mark.e2e

GATE = "AllBeta"
"""In 1.37 pod groups are among them."""
FITS = Gang("fits", memory="500M")
TOO_LARGE = Gang("large", memory="2G")
"""Two of the three fit on the node, and one beside the other gang."""
EVERY_CHANGE = {"optimizer", "score-cache"}
"""The profiles that every change is tried with; between them they have all plugins."""


@pytest.fixture(scope="module")
def with_all_beta() -> Iterator[ReleaseEnvironment]:
    """Return a node, and one that only tolerant pods go to."""
    features = make_gates({GATE: True}, ["api/beta"])
    cluster = KwokBinaryCluster(f"test-{secrets.token_hex(3)}", minor="1.37", features=features)
    apart = Taint("example.com/gangs", "NoSchedule")
    pools = [NodePool("node", 1, size(4000, 4 * 10**9)), NodePool("gang", 1, size(4000, 4 * 10**9), taints=(apart,))]
    with running_cluster(cluster), cluster.api_client() as client:
        create_nodes(client, pools)
        yield ReleaseEnvironment(cluster, client)


@pytest.mark.parametrize(
    "profile", [pytest.param(name, marks=[pytest.mark.nightly] * (name not in EVERY_CHANGE)) for name in PROFILES]
)
def test_every_profile_serves_and_places_gangs_whole(with_all_beta: ReleaseEnvironment, profile: str) -> None:
    """What a gate changes at start no compiler sees: a panic, or a kind to watch.

    All of a gang is placed or none, as if none of our plugins were there.
    """
    environment, optimizes = with_all_beta, profile.startswith("optimizer")
    release = install_release(
        environment.cluster,
        profile=profile,
        optimizer_enabled=optimizes,
        values={
            "scheduler": {"featureGates": {GATE: True}},
            "priorityOptimizer": {"trigger": "Manual", "minPodAgeSeconds": 0},
        },
    )

    check_release_serves(environment, release)
    create_gang(environment, FITS)
    until_bound(environment, FITS)
    create_gang(environment, TOO_LARGE)
    wait_until("the gang that is too large to be refused", lambda: members(environment, TOO_LARGE), is_refused_whole)
    if optimizes:
        manifest = make_manifest("stowage.dev/v1alpha1", "PackingPlan", f"beside-{profile}", spec={})
        Objects(environment.client).create(manifest)
        plan = wait_for(environment, f"beside-{profile}", "NoImprovement")
        assert not plan["status"].get("refusals"), "the gang is left alone"

    for gang in (FITS, TOO_LARGE):
        remove_gang(environment, gang)


pytestmark = pytest.mark.e2e


@pytest.mark.parametrize(
    "minor", [pytest.param(minor, marks=[pytest.mark.nightly] * (minor != choose_minor())) for minor in built_minors()]
)
def test_every_profile_becomes_ready_with_the_rights_of_the_chart(minor: str) -> None:
    """A minor may watch one kind more, without which its scheduler is never ready."""
    cluster = KwokBinaryCluster(f"test-{secrets.token_hex(3)}", minor=minor)
    with running_cluster(cluster), cluster.api_client() as client:
        create_nodes(client, [NodePool("node", 1, size(4000, 2**32))])
        environment = ReleaseEnvironment(cluster, client)
        for profile in PROFILES:
            release = install_release(cluster, profile=profile, optimizer_enabled=profile.startswith("optimizer"))
            check_release_serves(environment, release)
        uninstall_release(release)
