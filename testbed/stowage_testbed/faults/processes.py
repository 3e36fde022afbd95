"""Faults of the release's processes: killed, or stopped as if they hung."""

from __future__ import annotations

from functools import partial

import psutil

from stowage_testbed.cluster.processes import kill_one
from stowage_testbed.faults.context import FaultContext
from stowage_testbed.faults.errors import ProcessMissingError
from stowage_testbed.faults.late_pod import create_late_pod
from stowage_testbed.helm import Release
from stowage_testbed.wait import wait_until

RESTART_TIMEOUT_S = 30.0
RESTARTED = "scheduler restarted, wall s"
"""The fact that says when a killed scheduler's successor was started."""


def kill_optimizer(context: FaultContext) -> None:
    """Kill the optimiser, or only its children, of which one solves."""
    service = container_process(context.release, "optimizer")
    if context.way("service", "children") == "service":
        kill_one(service)
    else:
        for child in service.children(recursive=True):
            kill_one(child)
    create_late_pod(context)


def stop_optimizer(context: FaultContext) -> None:
    """Stop the optimiser and its children until the fault ends: slow, not dead."""
    service = container_process(context.release, "optimizer")
    for process in (service, *service.children(recursive=True)):
        process.suspend()
        context.on_end(partial(resume, process))
    create_late_pod(context)


def kill_scheduler(context: FaultContext) -> None:
    """Kill the scheduler; the fault ends when its successor has been started."""
    former = container_process(context.release, "scheduler")
    kill_one(former)

    def restarted() -> None:
        successor = wait_until(
            "the scheduler to be started again",
            lambda: _successor(context.release, former.pid),
            lambda process: process is not None,
            timeout_s=RESTART_TIMEOUT_S,
            clock=context.clock,
        )
        assert successor is not None  # noqa: S101 - that is what was waited for
        context.facts[RESTARTED] = successor.create_time()

    context.on_end(restarted)


def container_process(release: Release, container: str) -> psutil.Process:
    """Return the process of one of the release's containers.

    Raises
    ------
    ProcessMissingError
        It has none.
    """
    pid = release.process_ids().get(container)
    if pid is None or not psutil.pid_exists(pid):
        raise ProcessMissingError(container)
    return psutil.Process(pid)


def _successor(release: Release, former_pid: int) -> psutil.Process | None:
    try:
        process = container_process(release, "scheduler")
    except (ProcessMissingError, psutil.NoSuchProcess):
        return None
    return None if process.pid == former_pid else process


def resume(process: psutil.Process) -> None:
    """Let a stopped process continue; harmless if it has ended."""
    try:
        process.resume()
    except psutil.NoSuchProcess:
        return  # it was killed meanwhile, which a probe may do
