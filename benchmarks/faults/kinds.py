"""Every fault by its name in ``faults.yaml``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.faults import api_server, forgeries, odd_objects, processes, workloads
from benchmarks.faults.context import FaultContext
from stowage_testbed.cluster.base import Cluster


def _nothing(_fault_context: FaultContext) -> None:
    """Do nothing at this point."""


def _no_values(_cluster: Cluster) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True, slots=True)
class FaultKind:
    """One fault: how it is injected, what comes before anything is planned, and after.

    What ends it is registered with the context. ``values`` are further ones of the
    release that it needs.
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
