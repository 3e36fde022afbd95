"""Fixtures that other projects use to run their tests on a Stowage cluster.

``stowage_cluster`` is a cluster with fake nodes, one a session and worker. On it, ``stowage_nodes`` creates nodes,
``stowage_arm`` or ``stowage_release`` puts a scheduler there, ``stowage_apply`` applies manifests in a namespace of the
test's own, and ``stowage_placements`` says where the pods ended up. The mark ``stowage`` runs a scenario for a test.
Whatever a test brings is gone before the next one.

Every pytest of an environment with Stowage loads this file. So all names here begin with ``stowage``, a test that uses
none of them runs as without the plugin, and nothing is imported until a test asks for a fixture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from stowage_testbed.cluster.base import Cluster
    from stowage_testbed.compare.arms.serving import RunningArm
    from stowage_testbed.helm import Release
    from stowage_testbed.pytest.applying import Applier
    from stowage_testbed.pytest.environment import SessionEnvironment
    from stowage_testbed.pytest.placing import Placements
    from stowage_testbed.pytest.scenarios import ScenarioSession
    from stowage_testbed.run.outcome import ScenarioOutcome

# ruff: noqa: PLC0415 - imports wait for the fixtures that need them, see above

_OUTCOME = pytest.StashKey["ScenarioOutcome"]()
_FAILURES = pytest.StashKey[str]()
_SWEPT = "_stowage_swept"
_OF_MARK = ("stowage_cluster", "_stowage_scenarios", "_stowage_marked")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("stowage", "clusters with fake nodes")
    group.addoption(
        "--stowage-cluster",
        metavar="NAME",
        help="use this cluster, which is up, instead of making one; what tests bring "
        "is removed from it, what was there before stays",
    )
    group.addoption("--stowage-keep-cluster", action="store_true", help="leave the session's own cluster up")
    group.addoption(
        "--stowage-reuse",
        action="store_true",
        help="use the cluster `pytest` (with xdist `pytest-gw0` and so on) if it is "
        "up, else make it, and keep it for the next session; `stowage down pytest` "
        "ends it",
    )
    group.addoption(
        "--stowage-backend",
        metavar="BACKEND",
        default="kwok-binary",
        choices=["kwok-binary", "kind"],
        help="how the session's own cluster is run: kwok-binary (default) or kind; "
        "`stowage doctor` shows which work here",
    )
    group.addoption(
        "--stowage-kubernetes",
        metavar="MINOR",
        help="of which minor of Kubernetes the session's own cluster is, such as 1.36",
    )
    group.addoption(
        "--stowage-feature-gates",
        metavar="GATES",
        default="",
        help="feature gates of the session's own cluster, and of the scheduler of its scenarios that set them, as in "
        "GenericWorkload=true,AnotherGate=false",
    )
    group.addoption(
        "--stowage-results",
        metavar="DIR",
        type=Path,
        default=Path("results"),
        help="folder of the results bundles of scenarios (default: results)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        "stowage(scenario=None, variant=None, label=None): run a Stowage scenario "
        "before the test, which fails if that does: a file beside the test, or a name "
        "like paper/figure-1; the fixture stowage_outcome has the outcome. Collected "
        "scenarios have one with each of their labels: -m 'stowage(label=\"smoke\")'",
    )


def pytest_itemcollected(item: pytest.Item) -> None:
    """Have the scenario of a marked test run, and a test that uses a cluster swept."""
    names: list[str] | None = getattr(item, "fixturenames", None)
    if names is None:
        return
    if _scenario_mark(item):
        names += [name for name in _OF_MARK if name not in names]
    if "stowage_cluster" in names and _SWEPT not in names:
        names.append(_SWEPT)


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest) -> None:
    """Take stock of the cluster before the test's own fixtures bring anything."""
    own = fixturedef.scope == "function" and fixturedef.argname != _SWEPT
    if own and _SWEPT in request.fixturenames:
        request.getfixturevalue(_SWEPT)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Fail a marked test, in place of its body, with what its scenario says."""
    failures = pyfuncitem.stash.get(_FAILURES, "")
    if failures:
        pytest.fail(failures, pytrace=False)


@pytest.fixture(scope="session")
def stowage_cluster(pytestconfig: pytest.Config) -> Iterator[Cluster]:
    """Yield a cluster that is up; it is gone after the session, however that ends.

    With ``--stowage-reuse`` it stays for the next session.
    """
    from stowage_testbed.pytest.plain import failing_plainly
    from stowage_testbed.pytest.session_cluster import session_cluster

    with ExitStack() as stack:
        with failing_plainly():
            cluster = stack.enter_context(session_cluster(pytestconfig))
        yield cluster


@pytest.fixture(scope="session")
def _stowage_environment(stowage_cluster: Cluster, pytestconfig: pytest.Config) -> Iterator[SessionEnvironment]:
    """Yield the session's cluster with what runs on it."""
    from stowage_testbed.pytest.environment import open_environment

    with open_environment(stowage_cluster, pytestconfig) as environment:
        yield environment


@pytest.fixture
def _stowage_swept(_stowage_environment: SessionEnvironment, request: pytest.FixtureRequest) -> Iterator[None]:
    """Remove what a test brought to the cluster."""
    with _stowage_environment.test(request.fixturenames):
        yield


@pytest.fixture(scope="session")
def stowage_release(_stowage_environment: SessionEnvironment) -> Callable[..., Release]:
    """Return a function that puts the chart's release on the cluster.

    ``stowage_release("optimizer", optimizer_enabled=True, values={...})`` returns when the release serves; called
    again, it changes the release. The chart's profiles are ``default``, ``score-cache``, ``devices``,
    ``deterministic``, ``optimizer`` and ``optimizer-deterministic``. It stays for the tests after, and gives way to a
    `stowage_arm`.
    """
    return _stowage_environment.release


@pytest.fixture
def stowage_arm(
    _stowage_environment: SessionEnvironment, request: pytest.FixtureRequest
) -> Callable[[str | Path], RunningArm]:
    """Return a function that puts a scheduler on the cluster, and returns it serving.

    ``stowage_arm("default")`` is Kubernetes' own, ``stowage_arm("stowage")`` ours with the optimiser beside it,
    ``stowage_arm("mine.yaml")`` one of your own by an arm file beside the test. Pods that are applied afterwards are
    placed by it.
    """
    return partial(_stowage_environment.use, folder=request.path.parent)


@pytest.fixture
def stowage_nodes(_stowage_environment: SessionEnvironment) -> Callable[..., list[str]]:
    """Return a function that creates fake nodes, and returns their names when Ready.

    ``stowage_nodes("{count: 3, cpu: 4, memory: 8Gi}", "{prefix: gpu, cpu: 8, memory: 16Gi}")``.
    """
    return _stowage_environment.create_nodes


@pytest.fixture
def stowage_namespace(_stowage_environment: SessionEnvironment, request: pytest.FixtureRequest) -> str:
    """Return the name of a fresh namespace, the test's own."""
    from stowage_testbed.pytest.applying import fresh_namespace

    return fresh_namespace(_stowage_environment, request.node.name)


@pytest.fixture
def stowage_apply(
    _stowage_environment: SessionEnvironment, stowage_namespace: str, request: pytest.FixtureRequest
) -> Iterator[Applier]:
    """Yield a function that applies manifests, and returns the objects.

    ``stowage_apply("web.yaml", {"apiVersion": "v1", ...}, yaml_text)``: paths are taken from the test's folder, and
    objects go into the test's namespace if they name none.
    """
    from stowage_testbed.pytest.applying import Applier

    applier = Applier(_stowage_environment, stowage_namespace, request.path.parent)
    yield applier
    applier.take_back()


@pytest.fixture
def stowage_placements(_stowage_environment: SessionEnvironment, stowage_namespace: str) -> Placements:
    """Return a function that waits until placement is decided, and says where pods are.

    ``stowage_placements()`` maps each pod of the test's namespace to its node, or to ``None`` if no node takes it.
    """
    from stowage_testbed.pytest.placing import Placements

    return Placements(_stowage_environment, stowage_namespace)


@pytest.fixture(scope="session")
def _stowage_scenarios(
    _stowage_environment: SessionEnvironment, pytestconfig: pytest.Config
) -> Iterator[ScenarioSession]:
    """Yield a session that runs scenarios and keeps their results bundle."""
    from stowage_testbed.pytest.plain import failing_plainly
    from stowage_testbed.pytest.scenarios import scenario_session

    with failing_plainly():
        _stowage_environment.install_release_tools(optimizer=True)
    environment, results = _stowage_environment, pytestconfig.getoption("--stowage-results")
    with scenario_session(environment.cluster, results, environment.make_way_for_scenario) as session:
        yield session


@pytest.fixture
def _stowage_marked(_stowage_scenarios: ScenarioSession, request: pytest.FixtureRequest) -> None:
    """Run the scenario that the test is marked with."""
    from stowage_testbed.pytest.plain import failing_plainly
    from stowage_testbed.pytest.scenarios import marked_scenario

    mark = _scenario_mark(request.node)
    if mark is None:
        return
    with failing_plainly():
        scenario = marked_scenario(mark, request.node.nodeid, request.path.parent, request.config.rootpath)
        outcome, failures = _stowage_scenarios.run(scenario)
    request.node.stash[_OUTCOME] = outcome
    request.node.stash[_FAILURES] = failures


@pytest.fixture
def stowage_outcome(_stowage_marked: None, request: pytest.FixtureRequest) -> ScenarioOutcome:
    """Return the outcome of the scenario that the test is marked with."""
    outcome: ScenarioOutcome | None = request.node.stash.get(_OUTCOME, None)
    if outcome is None:
        pytest.fail(
            f"{request.node.nodeid} asks for stowage_outcome, and no scenario was run "
            'for it; mark it with @pytest.mark.stowage(scenario="file.yaml")',
            pytrace=False,
        )
    return outcome


def _scenario_mark(item: pytest.Item) -> pytest.Mark | None:
    """Return the mark that names a scenario; those that only label are left out."""
    return next((one for one in item.iter_markers("stowage") if one.args or {*one.kwargs} - {"label"}), None)
