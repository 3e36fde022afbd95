"""Every fault by its name in ``faults.yaml``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.faults.api_server import (
    forget_waiting,
    restart_api_server,
    slow_down,
    slow_values,
)
from benchmarks.faults.context import FaultContext
from benchmarks.faults.etcd import fill_etcd
from benchmarks.faults.forgeries import forge, prepare_forgery
from benchmarks.faults.nodes import (
    delete_node,
    make_unschedulable,
    shrink_node,
    taint_node,
)
from benchmarks.faults.odd_objects import create_odd_objects, prepare_odd_objects
from benchmarks.faults.processes import (
    ELECTION,
    freeze_leader,
    hostile_values,
    kill_optimizer,
    kill_scheduler,
    lie,
    start_standby,
    stop_optimizer,
)
from benchmarks.faults.workloads import (
    allow_one,
    change_owner,
    churn,
    compete,
    create_budget,
    limit_pods,
    shrink_budget,
)
from benchmarks.faults.write_budget import refuse_writes, spend_budget
from stowage_testbed.cluster.base import Cluster


def _nothing(_fault_context: FaultContext) -> None:
    """Do nothing at this point."""


def _no_values(_cluster: Cluster) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True, slots=True)
class FaultKind:
    """One fault.

    Parameters
    ----------
    inject
        Injects the fault; what ends it is registered with the context.
    before
        Called before anything is planned.
    after
        Called when the try has been evaluated.
    values
        Further values of the release that it needs.
    """

    inject: Callable[[FaultContext], None]
    before: Callable[[FaultContext], None] = _nothing
    after: Callable[[FaultContext], None] = _nothing
    values: Callable[[Cluster], Mapping[str, Any]] = _no_values


KINDS: dict[str, FaultKind] = {
    "change-owner": FaultKind(change_owner),
    "churn": FaultKind(churn),
    "compete": FaultKind(compete),
    "create-budget": FaultKind(create_budget),
    "create-odd-objects": FaultKind(create_odd_objects, before=prepare_odd_objects),
    "delete-node": FaultKind(delete_node),
    "fill-etcd": FaultKind(fill_etcd),
    "forge": FaultKind(forge, before=prepare_forgery),
    "freeze-leader": FaultKind(
        freeze_leader, before=start_standby, values=lambda _cluster: ELECTION
    ),
    "kill-optimizer": FaultKind(kill_optimizer),
    "kill-scheduler": FaultKind(kill_scheduler),
    # From before the first solve: one that began earlier is answered honestly.
    "lie": FaultKind(_nothing, before=lie, values=hostile_values),
    "limit-pods": FaultKind(limit_pods),
    "make-unschedulable": FaultKind(make_unschedulable),
    "nothing": FaultKind(_nothing),
    "refuse-writes": FaultKind(refuse_writes, before=spend_budget),
    "restart-api-server": FaultKind(restart_api_server, after=forget_waiting),
    "shrink-budget": FaultKind(shrink_budget, before=allow_one),
    "shrink-node": FaultKind(shrink_node),
    "slow-api-server": FaultKind(slow_down, values=slow_values),
    "stop-optimizer": FaultKind(stop_optimizer),
    "taint-node": FaultKind(taint_node),
}
