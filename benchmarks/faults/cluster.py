"""Every fault by its name in ``faults.yaml``, and one cluster for many tries with the release that each needs."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.faults import api_server, forgeries, odd_objects, processes, workloads
from benchmarks.faults.context import Fault, FaultContext
from stowage_testbed.cluster import KwokBinaryCluster
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.components import API_SERVER
from stowage_testbed.cluster.feature_gates import make_gates
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.cluster.supervision import supervised
from stowage_testbed.helm import Release
from stowage_testbed.helm.release import merge_values
from stowage_testbed.observe.observer import Observer
from stowage_testbed.observe.pod_group import list_sources
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.execution import WATCHED
from stowage_testbed.run.release import Wanted, make_optimizer_values, switch_release


def _nothing(_fault_context: FaultContext) -> None:
    """Do nothing at this point."""


def _no_values(_cluster: Cluster) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True, slots=True)
class FaultKind:
    """One fault: how it is injected, what comes before anything is planned, and after.

    What ends it is registered with the context. ``values`` are further ones of the release that it needs.
    """

    inject: Callable[[FaultContext], None] = _nothing
    before: Callable[[FaultContext], None] = _nothing
    after: Callable[[FaultContext], None] = _nothing
    values: Callable[[Cluster], Mapping[str, Any]] = _no_values


KINDS: dict[str, FaultKind] = {
    "change-owner": FaultKind(workloads.change_owner),
    "churn": FaultKind(workloads.churn),
    "compete": FaultKind(workloads.compete),
    "create-budget": FaultKind(workloads.create_budget),
    "create-odd-objects": FaultKind(odd_objects.create, before=odd_objects.prepare),
    "delete-node": FaultKind(workloads.delete_node),
    "delete-waiting": FaultKind(workloads.delete_waiting),
    "fill-etcd": FaultKind(api_server.fill_etcd),
    "forge": FaultKind(forgeries.forge, before=forgeries.prepare),
    "freeze-leader": FaultKind(
        processes.freeze_leader, before=processes.start_standby, values=lambda _cluster: processes.ELECTION
    ),
    "kill-optimizer": FaultKind(processes.kill_optimizer),
    "kill-scheduler": FaultKind(processes.kill_scheduler),
    # From before the first solve: one that began earlier is answered honestly.
    "lie": FaultKind(before=processes.lie, values=processes.hostile_values),
    "limit-pods": FaultKind(workloads.limit_pods),
    "make-unschedulable": FaultKind(workloads.cordon_node),
    "nothing": FaultKind(),
    "refuse-writes": FaultKind(api_server.refuse_writes, before=api_server.spend_budget),
    "restart-api-server": FaultKind(api_server.restart, after=api_server.forget),
    "shrink-budget": FaultKind(workloads.shrink_budget, before=workloads.allow_one),
    "shrink-node": FaultKind(workloads.shrink_node),
    "slow-api-server": FaultKind(api_server.slow_down, values=api_server.slow_values),
    "stop-optimizer": FaultKind(processes.stop_optimizer),
    "taint-node": FaultKind(workloads.taint_node),
}


PROFILE = "optimizer-deterministic"
LONGEST_BACKOFF_S = 1.0
"""A kubelet would let a container that is killed again and again wait for minutes."""
PATIENCE_S = 60.0
"""How long the API server may be away."""

FAIR = {
    API_SERVER: {
        "enable-priority-and-fairness": "true",
        "max-requests-inflight": "400",
        "max-mutating-requests-inflight": "200",
    }
}
"""The API server's own defaults, which other clusters of the testbed do without: a
budget can be spent only where there is one."""

GANGS = make_gates({"GenericWorkload": True})
"""The cluster has PodGroups, and the scheduler knows of them where a world has any."""

VALUES: Mapping[str, Any] = {
    "priorityOptimizer": {
        # A second plan has to put right what a fault cut short.
        "coolDownSeconds": 0,
        "stepTimeoutSeconds": 5,
        "readyTimeoutSeconds": 10,
        "planTimeoutSeconds": 30,
    }
}


@dataclass(slots=True)
class FaultCluster:
    """The cluster, what is installed on it, and values of every release there."""

    run: RunContext
    always: Mapping[str, Any]
    _values: Mapping[str, Any] | None = None
    _release: Release | None = field(default=None)

    @property
    def release(self) -> Release:
        """The release that serves now."""
        assert self._release is not None  # noqa: S101 - `release_for` was called
        return self._release

    def release_for(self, fault: Fault) -> Release:
        """Return the release as a fault needs it; it serves."""
        cluster, scenario = self.run.cluster, fault.scenario
        further = (KINDS[fault.settings.do].values(cluster), scenario.features.values(cluster.minor))
        values: Mapping[str, Any] = {}
        for one in (VALUES, self.always, make_optimizer_values(scenario.optimizer), *further):
            values = merge_values(values, one)
        if self._release is None or values != self._values:
            serving = switch_release(self.run, Wanted(PROFILE, optimizer_enabled=True, values=values))
            self._release, self._values = serving.release, values
            for source in WATCHED:
                self.run.observer.watch(source)
        return self._release


@contextmanager
def open_fault_cluster(
    name: str, folders: tuple[Path, ...] = (), always: Mapping[str, Any] | None = None
) -> Iterator[FaultCluster]:
    """Yield a fault cluster of that name, which is gone afterwards.

    Its disk is watched, and those of the folders in which results are written.
    """
    cluster = KwokBinaryCluster(name, extra_args=FAIR, features=GANGS, longest_backoff_s=LONGEST_BACKOFF_S)
    with (
        running_cluster(cluster),
        supervised(cluster, folders),
        cluster.api_client() as api,
        Observer(api, list_sources(api)) as observer,
        observer.patient(PATIENCE_S),
    ):
        run = RunContext(cluster, api, observer, tag=name[-4:], lasting=False)
        yield FaultCluster(run, always or {})
