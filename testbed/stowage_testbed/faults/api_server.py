"""A fault of the API server: killed, and started again when the fault ends."""

from __future__ import annotations

from stowage_testbed.cluster import KwokBinaryCluster
from stowage_testbed.cluster.components import (
    API_SERVER,
    CONTROLLER_MANAGER,
    KWOK,
    component_process,
)
from stowage_testbed.cluster.processes import kill_one
from stowage_testbed.cluster.supervision import expect_ends
from stowage_testbed.faults.context import FaultContext
from stowage_testbed.faults.errors import ProcessMissingError
from stowage_testbed.faults.processes import kill_scheduler


def restart_api_server(context: FaultContext) -> None:
    """Kill the API server; all reads and writes fail until the fault ends."""
    cluster = _local(context)
    process = component_process(cluster.workdir, API_SERVER)
    if process is None:
        raise ProcessMissingError(API_SERVER)
    context.on_end(cluster.start_again)
    # Its clients may give up meanwhile.
    expect_ends(cluster, API_SERVER, CONTROLLER_MANAGER, KWOK)
    kill_one(process)
    # Killed is not yet ended, and what has not ended is not started again.
    process.wait()


def forget_waiting(context: FaultContext) -> None:
    """Start every client of the API server anew.

    They wait for up to a minute after a few failures, and forget them only after two
    healthy minutes, which nobody has whose API server is killed every minute.
    """
    cluster = _local(context)
    expect_ends(cluster, CONTROLLER_MANAGER, KWOK)
    for component in (CONTROLLER_MANAGER, KWOK):
        process = component_process(cluster.workdir, component)
        if process is not None:
            kill_one(process)
            process.wait()
    cluster.start_again()
    kill_scheduler(context)
    context.end_fault()


def _local(context: FaultContext) -> KwokBinaryCluster:
    cluster = context.run.cluster
    assert isinstance(cluster, KwokBinaryCluster)  # noqa: S101 - others have no processes
    return cluster
