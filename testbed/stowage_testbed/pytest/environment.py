"""What the fixtures of one session share: its cluster, and what runs on it."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from kubernetes.client import ApiClient

from stowage_testbed.api.kinds import kinds_of
from stowage_testbed.api.manifests import SUFFIXES, check_file
from stowage_testbed.api.objects import Objects
from stowage_testbed.api.pod_templates import PodOverrides
from stowage_testbed.base import health
from stowage_testbed.cluster.backend import RELEASE_TOOLS
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.node_pool import NodePool, create_nodes, parse_node_specs
from stowage_testbed.compare.arms import choose_arms
from stowage_testbed.compare.arms.serving import ArmEndedError, RunningArm, install_arms, remove_arms
from stowage_testbed.compare.session import refuse_second_scheduler
from stowage_testbed.helm import Release, install_release, uninstall_release
from stowage_testbed.pytest.plain import failing_plainly, plain, speaking
from stowage_testbed.pytest.sweeping import RELEASE_NAMESPACE, sweep, sweepable
from stowage_testbed.run.release import Wanted
from stowage_testbed.run.request import install_needed
from stowage_testbed.scenario import timeouts

Values = Mapping[str, object]

_OF_RELEASE = frozenset({"stowage_release", "_stowage_scenarios"})
"""Fixtures that bring the chart's release."""


class SessionEnvironment:
    """A cluster that is up, which tests use one after the other, with the scheduler that was asked for last.

    It may be the session's own, with all that is on it. The chart's release stays from test to test; it
    and an arm give way to each other, as two schedulers would conflict.
    """

    def __init__(self, cluster: Cluster, api: ApiClient, config: pytest.Config) -> None:
        self.cluster = cluster
        self.api = api
        self.kinds = kinds_of(api)
        self._config = config
        self._owned = config.getoption("--stowage-cluster") is None
        self._wanted: Wanted | None = None
        self._release_changed = False
        self._released = False
        self._folder = cluster.workdir / "pytest-arms"
        self._ending = ExitStack()
        self._started = 0
        self._serving: RunningArm | None = None
        self._arm: RunningArm | None = None

    @property
    def pod_overrides(self) -> PodOverrides | None:
        """What the scheduler that this test asked for overrides in every pod."""
        return self._arm.pod_overrides if self._arm else None

    @property
    def has_scheduler(self) -> bool:
        """Whether this test asked for a scheduler, or uses what did; somebody else's cluster may have one anyway."""
        return self._released or self._arm is not None or not self._owned

    @property
    def optimizes(self) -> bool:
        """Whether the scheduler makes plans for pods that it finds no room for."""
        if self._arm is not None:
            return self._arm.optimizes
        return self._released and self._wanted is not None and self._wanted.optimizer_enabled

    @plain
    def create_nodes(self, *pools: NodePool | str) -> list[str]:
        """Create fake nodes in this order; return their names when all are Ready.

        Then a deterministic scheduler of the chart has seen them, too.

        A pool may be what `stowage up --nodes` takes, as in
        ``{prefix: big, count: 3, cpu: 4, memory: 8Gi, labels: {disk: ssd}, zones: [a, b]}``.

        Raises
        ------
        StowageError
            A text is malformed; the server refuses a node, as its name is taken, say; or some were not Ready or seen in
            time.
        """
        read = [pool for one in pools for pool in (parse_node_specs([one]) if isinstance(one, str) else [one])]
        timeout_s = timeouts.nodes_s(sum(pool.count for pool in read))
        names = create_nodes(self.api, read, timeout_s=timeout_s)
        if self._released and self._wanted is not None and not self._release_changed:
            self._wanted.await_nodes(self._release_there, names)
        return names

    @plain
    def use(self, name: str | Path, *, folder: Path) -> RunningArm:
        """Put an arm on the cluster in the place of any other scheduler; on return it serves.

        It has a name that `stowage compare --help` lists, or that of an arm file in the folder.
        """
        is_file = Path(name).suffix in SUFFIXES
        (arm,) = choose_arms((), [check_file(folder / name)]) if is_file else choose_arms([str(name)])
        with speaking(self._config):
            install_arms([arm])
        # A release that somebody else installed stays, and is refused.
        if (self._owned or self._wanted) and Objects(self.api).list_all("Deployment", RELEASE_NAMESPACE):
            self._remove_release()
            self._release_changed = True
        refuse_second_scheduler(self.api, self.cluster.name)
        if self._serving is None or self._serving.arm != arm or not _lives(self._serving):
            self.make_way()
            self._started += 1
            folder = self._folder / f"{self._started:03d}-{arm.name}"
            self._serving = self._ending.enter_context(arm.running(self.cluster, folder, None))
        self._arm = self._serving
        return self._arm

    def make_way(self) -> None:
        """End the arm, if there is one."""
        self._arm = self._serving = None
        self._ending.close()

    def make_way_for_scenario(self) -> None:
        """End the arm; the scenario makes another release of the session's."""
        self.make_way()
        self._release_changed = True

    def install_release_tools(self, *, optimizer: bool) -> None:
        """Install what the release needs."""
        with speaking(self._config):
            install_needed(*RELEASE_TOOLS, minor=self.cluster.minor, optimizer=optimizer)

    @plain
    def release(
        self, profile: str = "deterministic", *, optimizer_enabled: bool = False, values: Values | None = None
    ) -> Release:
        """Put the chart's release on the cluster, or change it, and return it when it serves."""
        self.install_release_tools(optimizer=optimizer_enabled)
        return self._release(Wanted(profile, optimizer_enabled, values or {}))

    def _release(self, wanted: Wanted) -> Release:
        self.make_way()
        self._released = True
        release = install_release(
            self.cluster, profile=wanted.profile, optimizer_enabled=wanted.optimizer_enabled, values=wanted.values
        )
        self._wanted, self._release_changed = wanted, False
        return release

    @property
    def _release_there(self) -> Release:
        return Release(self.cluster, "stowage", RELEASE_NAMESPACE)

    def _remove_release(self) -> None:
        uninstall_release(self._release_there)

    def clear(self) -> None:
        """Remove what sessions before this one left, also arms of one that was killed."""
        remove_arms(Objects(self.api))
        sweep(self.api, self.kinds)

    @contextmanager
    def test(self, fixtures: Collection[str]) -> Iterator[None]:
        """Give the cluster to one test that uses these, and sweep what that brings.

        What fixtures of a wider scope brought before stays.
        """
        self._arm = None
        if "stowage_arm" not in fixtures:
            self.make_way()
        self._released = bool(_OF_RELEASE & set(fixtures))
        if "stowage_release" in fixtures and self._release_changed and self._wanted is not None:
            self._release(self._wanted)
        keep_uids = {one.uid for one in sweepable(self.api, self.kinds)}
        try:
            yield
        finally:
            if health.is_well():
                sweep(self.api, self.kinds, keep_uids)

    def end(self) -> None:
        """End the arm, and leave no release on a cluster that is not the session's own."""
        self.make_way()
        if health.is_well() and not self._owned and self._wanted is not None:
            self._remove_release()


def _lives(arm: RunningArm) -> bool:
    try:
        arm.check()
    except ArmEndedError:
        return False
    return True


@contextmanager
def open_environment(cluster: Cluster, config: pytest.Config) -> Iterator[SessionEnvironment]:
    """Yield the environment of a session; what runs in it ends with it."""
    with cluster.api_client() as api:
        environment = SessionEnvironment(cluster, api, config)
        try:
            if config.getoption("--stowage-reuse") and config.getoption("--stowage-cluster") is None:
                with failing_plainly():
                    environment.clear()
            yield environment
        finally:
            environment.end()
