"""What the fixtures of one session share: its cluster, and what runs on it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kubernetes.client import ApiClient

from stowage_testbed.api.kinds import kinds_of
from stowage_testbed.api.manifests import SUFFIXES, check_file
from stowage_testbed.base import health
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.node_pool import NodePool, parse_node_specs
from stowage_testbed.cluster.nodes import create_nodes
from stowage_testbed.compare.arms.registry import choose_arms
from stowage_testbed.compare.session import refuse_second_scheduler
from stowage_testbed.helm import Release
from stowage_testbed.pytest.arms import SchedulerArm, SessionArms
from stowage_testbed.pytest.releases import Releases, Wanted
from stowage_testbed.pytest.sweeping import sweep, sweepable
from stowage_testbed.run.arm import Arm, PodOverrides
from stowage_testbed.run.timeouts import DEFAULT_TIMEOUTS

_OF_RELEASE = frozenset({"stowage_release", "_stowage_scenarios"})
"""Fixtures that bring the chart's release."""


def choose_arm(arm: str | Path, folder: Path) -> Arm:
    """Return the arm that is meant.

    It is named as `stowage compare --help` lists them, or an arm file, whose relative
    path begins in ``folder``.

    Raises
    ------
    StowageError
        There is no such arm, or its file cannot be used.
    """
    if Path(arm).suffix in SUFFIXES:
        (chosen,) = choose_arms((), [check_file(folder / arm)])
    else:
        (chosen,) = choose_arms([str(arm)])
    return chosen


class SessionEnvironment:
    """A cluster that tests use one after the other.

    It is up, and ``owned`` if it is the session's own, with all that is on it.
    """

    def __init__(self, cluster: Cluster, api: ApiClient, *, owned: bool) -> None:
        self.cluster = cluster
        self.api = api
        self.kinds = kinds_of(api)
        self._owned = owned
        self.releases = Releases(cluster, owned=owned)
        self._arms = SessionArms(cluster)
        self._arm: SchedulerArm | None = None
        self._released = False

    @property
    def pod_overrides(self) -> PodOverrides | None:
        """What the scheduler that this test asked for overrides in every pod."""
        return self._arm.pod_overrides if self._arm else None

    @property
    def has_scheduler(self) -> bool:
        """Whether this test asked for a scheduler, or uses what asked for one.

        A cluster that is somebody else's may have one anyway.
        """
        return self._released or self._arm is not None or not self._owned

    @property
    def optimizes(self) -> bool:
        """Whether the scheduler makes plans for pods that it finds no room for."""
        if self._arm is not None:
            return self._arm.optimizes
        return self._released and self.releases.optimizes

    def use(self, arm: Arm) -> SchedulerArm:
        """Put an arm on the cluster in the place of any other; it then serves.

        The release gives way to it.

        Raises
        ------
        StowageError
            Its program has not been built; it did not come up; or a release that is not
            the session's serves on the cluster.
        """
        self.releases.set_aside()
        refuse_second_scheduler(self.api, self.cluster.name)
        self._arm = self._arms.use(arm)
        return self._arm

    def create_nodes(self, pools: Sequence[NodePool | str]) -> list[str]:
        """Create fake nodes in this order; return their names when all are Ready.

        A pool may be what `stowage up --nodes` takes, as in
        ``{prefix: big, count: 3, cpu: 4, memory: 8Gi, labels: {disk: ssd}, zones: [a, b]}``.

        Raises
        ------
        StowageError
            A text is malformed; the server refuses a node, as its name is taken, say;
            or some were not Ready in time.
        """
        read = [pool for one in pools for pool in (parse_node_specs([one]) if isinstance(one, str) else [one])]
        timeout_s = DEFAULT_TIMEOUTS.nodes_s(sum(pool.count for pool in read))
        return create_nodes(self.api, read, timeout_s=timeout_s)

    def release(self, wanted: Wanted) -> Release:
        """Put the release on the cluster; an arm gives way to it."""
        self.make_way()
        self._released = True
        return self.releases.install(wanted)

    def make_way(self) -> None:
        """End the arm, if there is one."""
        self._arm = None
        self._arms.end()

    def make_way_for_scenario(self) -> None:
        """End the arm; the scenario makes another release of the session's."""
        self.make_way()
        self.releases.changed()

    def clear(self) -> None:
        """Remove what sessions before this one left."""
        self._arms.end_leftovers()
        sweep(self.api, self.kinds)

    @contextmanager
    def test(self, fixtures: Collection[str]) -> Iterator[None]:
        """Give the cluster to one test that uses these, and sweep what that brings.

        What fixtures of a wider scope brought before stays.
        """
        self._arm = None
        if "stowage_arm" not in fixtures:
            self._arms.end()
        self._released = bool(_OF_RELEASE & set(fixtures))
        if "stowage_release" in fixtures:
            self.releases.restore()
        kept = {one.uid for one in sweepable(self.api, self.kinds)}
        try:
            yield
        finally:
            if health.is_well():
                sweep(self.api, self.kinds, kept)


@contextmanager
def open_environment(cluster: Cluster, *, owned: bool) -> Iterator[SessionEnvironment]:
    """Yield the environment of a session; what runs in it ends with it."""
    with cluster.api_client() as api:
        environment = SessionEnvironment(cluster, api, owned=owned)
        try:
            yield environment
        finally:
            environment.make_way()
            if health.is_well():
                environment.releases.end()
