"""The chart's rights are all that the scheduler of any minor needs to become ready."""

from __future__ import annotations

import secrets

import pytest
from amounts import size
from chart_render import PROFILES
from release_environment import ReleaseEnvironment
from serving_release import check_release_serves

from stowage_testbed.cluster import KwokBinaryCluster, NodePool, create_nodes
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.helm import install_release, uninstall_release
from stowage_testbed.toolchain import choose_minor
from stowage_testbed.toolchain.minors import built_minors

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
