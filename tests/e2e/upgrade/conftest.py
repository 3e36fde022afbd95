"""The chart of the version before, and a cluster on which it is or was installed."""

import secrets
import subprocess
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from amounts import size
from release_environment import ReleaseEnvironment

from stowage_testbed.api.objects import Objects
from stowage_testbed.base import layout
from stowage_testbed.base.wait import wait_until
from stowage_testbed.cluster import KwokBinaryCluster, NodePool, create_nodes
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.helm import Release, uninstall_release
from stowage_testbed.helm.install import CHART

BEFORE = "87cdc2750f3f41fc19733955af4a672c8b26b724"
"""The last commit of the chart 0.1.0, which knows neither objectives nor policies."""


@pytest.fixture(scope="package")
def chart_before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the chart of that commit; skip where its history is not at hand."""
    command = ["git", "archive", "--format=zip", BEFORE, "charts/stowage"]
    root = layout.shipped("charts").parent
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("git is not installed, and the chart before is in its history only")
    if done.returncode != 0:
        said = done.stderr.decode().strip()
        pytest.skip(f"the commit {BEFORE} is not in this checkout's history: {said}")
    folder = tmp_path_factory.mktemp("before")
    with zipfile.ZipFile(BytesIO(done.stdout)) as archive:
        archive.extractall(folder)
    return folder / "charts" / "stowage"


@pytest.fixture(scope="package")
def environment() -> Iterator[ReleaseEnvironment]:
    """Return a cluster with two nodes; each test brings its own definitions."""
    with running_cluster(KwokBinaryCluster(f"test-{secrets.token_hex(3)}")) as running, running.api_client() as client:
        create_nodes(client, [NodePool("node", 2, size(4000, 4 * 10**9))])
        yield ReleaseEnvironment(running, client)


@pytest.fixture(autouse=True)
def _nothing_left(environment: ReleaseEnvironment) -> Iterator[None]:
    """Remove the release, and the definitions that Helm leaves on purpose."""
    yield
    uninstall_release(Release(environment.cluster, "stowage", "stowage-system"))
    objects, kind = Objects(environment.client), "CustomResourceDefinition"
    names = [file.stem for file in (CHART / "crds").glob("*.yaml")]
    for name in names:
        objects.delete(kind, name)
    wait_until(
        "the definitions to be gone",
        lambda: [name for name in names if objects.exists(kind, name)],
        lambda left: not left,
    )
