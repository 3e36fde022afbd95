"""Fixtures that other projects use to run their tests on a Stowage cluster.

``stowage_cluster`` is a cluster with fake nodes, one a session; ``stowage_release``
puts the chart on it; ``stowage_scenarios`` runs scenarios. Nothing is imported until a
test asks for a fixture: every pytest of an environment with Stowage loads this file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from testbed.cluster.protocol import Cluster
    from testbed.helm import Release
    from testbed.pytest.scenario_session import ScenarioSession

# ruff: noqa: PLC0415 - imports wait for the fixtures that need them, see above


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("stowage", "clusters with fake nodes")
    group.addoption(
        "--stowage-cluster",
        metavar="NAME",
        help="use this cluster, which is up, instead of making one",
    )
    group.addoption(
        "--stowage-keep-cluster",
        action="store_true",
        help="leave the session's own cluster up",
    )
    group.addoption(
        "--stowage-results",
        metavar="DIR",
        type=Path,
        default=Path("results"),
        help="folder of the results bundles of scenarios (default: results)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks that collected scenarios bear."""
    config.addinivalue_line("markers", "e2e: needs a fake-node cluster")
    config.addinivalue_line("markers", "smoke: a scenario that every change must pass")
    config.addinivalue_line("markers", "short: a scenario that takes seconds")
    config.addinivalue_line("markers", "full: a scenario that takes long; -m full")


@pytest.fixture(scope="session")
def stowage_cluster(pytestconfig: pytest.Config) -> Iterator[Cluster]:
    """Yield a cluster that is up; it is gone after the session, however that ends."""
    from testbed.pytest.ending import ending_session
    from testbed.run.listener import Listener
    from testbed.run.request import RunRequest
    from testbed.run.session import cluster_session
    from testbed.run.stopwatch import Stopwatch

    request = RunRequest(
        scenarios=(),
        cluster=pytestconfig.getoption("--stowage-cluster"),
        keep_cluster=pytestconfig.getoption("--stowage-keep-cluster"),
    )
    with (
        cluster_session(request, Listener(), Stopwatch()) as cluster,
        ending_session(),
    ):
        yield cluster


@pytest.fixture(scope="session")
def stowage_release(
    stowage_cluster: Cluster, pytestconfig: pytest.Config
) -> Iterator[Callable[..., Release]]:
    """Yield a function that puts the chart's release on the cluster.

    ``stowage_release("optimizer", optimizer_enabled=True, values={...})`` returns when
    the release serves; called again, it changes the release. The chart's profiles are
    ``default``, ``score-cache``, ``deterministic``, ``optimizer`` and
    ``optimizer-deterministic``.
    """
    from testbed.helm import install_release, uninstall_release

    installed: list[Release] = []

    def install(
        profile: str = "deterministic",
        *,
        optimizer_enabled: bool = False,
        values: Mapping[str, object] | None = None,
    ) -> Release:
        release = install_release(
            stowage_cluster,
            profile=profile,
            optimizer_enabled=optimizer_enabled,
            values=values,
        )
        installed.append(release)
        return release

    yield install
    if installed and pytestconfig.getoption("--stowage-cluster"):
        # A cluster of the session's own takes its release with it.
        uninstall_release(installed[-1])


@pytest.fixture(scope="session")
def stowage_scenarios(
    stowage_cluster: Cluster, pytestconfig: pytest.Config
) -> Iterator[ScenarioSession]:
    """Yield a session that runs scenarios and keeps their results bundle."""
    from testbed.pytest.scenario_session import scenario_session

    results = pytestconfig.getoption("--stowage-results")
    with scenario_session(stowage_cluster, results) as session:
        yield session
