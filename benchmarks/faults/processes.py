"""Faults of the release's processes: killed, stopped as if they hung, lying."""

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from benchmarks.faults import hostile_optimizer
from benchmarks.faults.context import FaultContext
from benchmarks.faults.hostile_optimizer import HONEST, WAYS
from stowage_testbed.amounts.resources import Resources
from stowage_testbed.base.child import end_child
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import wait_until
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.components import kill_one, marked_environment, resume
from stowage_testbed.cluster.ports import port_beside
from stowage_testbed.helm import Release
from stowage_testbed.observe.change import Change
from stowage_testbed.observe.pod import read_pod
from stowage_testbed.observe.timeline import read_pod_timelines
from stowage_testbed.scenario.model import Workload

LATE_POD = Workload("late-pod", 1, requests=Resources(cpu=1, memory=1_000_000))
"""Fits on any node that has any room at all."""


def create_late_pod(context: FaultContext) -> None:
    """Create the late pod."""
    context.apply(LATE_POD)


def hold_s(changes: Iterable[Change], namespace: str) -> float | None:
    """Return the seconds from its creation until it was bound or refused.

    None if there was none, or if it was neither bound nor refused.
    """
    own = (change for change in changes if change.kind == "Pod" and read_pod(change.body).workload == LATE_POD.name)
    for line in read_pod_timelines(own, namespace):
        decided = [at for at in (line.bound, line.refused) if at is not None]
        if line.created is not None and decided:
            return min(decided).seconds_since(line.created)
    return None


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
        with suppress(psutil.NoSuchProcess):  # a child may just have ended
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
            lambda: _process_of(context.release, "scheduler"),
            lambda process: process is not None and process.pid != former.pid,
            clock=context.clock,
        )
        assert successor is not None  # noqa: S101 - that is what was waited for
        context.facts[RESTARTED] = successor.create_time()

    context.on_end(restarted)


def container_process(release: Release, container: str) -> psutil.Process:
    """Return the process of one of the release's containers."""
    process = _process_of(release, container)
    if process is None:
        raise no_process(container)
    return process


def no_process(container: str) -> StowageError:
    """Return what to raise where a process that a fault is about does not run."""
    return StowageError(
        f"the release's container {container!r} has no process to do this to; "
        "see its log, and whether the release is ready"
    )


def _process_of(release: Release, container: str) -> psutil.Process | None:
    pid = release.process_ids().get(container)
    try:
        return None if pid is None else psutil.Process(pid)
    except psutil.NoSuchProcess:
        return None


def control_file(cluster: Cluster) -> Path:
    """Return the file by which the lying optimiser is controlled."""
    return cluster.workdir / "lie"


def hostile_values(cluster: Cluster) -> dict[str, Any]:
    """Return the values of a release whose optimiser lies on request."""
    # By its file: the container's process is started elsewhere, and without our path.
    program = [sys.executable, "-P", hostile_optimizer.__file__]
    return {"optimizer": {"command": [*program, "--control", str(control_file(cluster))]}}


def lie(context: FaultContext) -> None:
    """Have the optimiser lie."""
    file = control_file(context.run.cluster)
    context.write_until_end(file, context.way(*WAYS), HONEST)


ELECTION = {
    "scheduler": {
        "leaderElection": {"enabled": True},
        "extraArgs": [
            "--leader-elect-lease-duration=2s",
            "--leader-elect-renew-deadline=1500ms",
            "--leader-elect-retry-period=300ms",
        ],
    }
}
"""Values of a release whose lease changes hands within seconds."""
END_TIMEOUT_S = 5.0
_PORT = re.compile(r"--secure-port=\d+")


def start_standby(context: FaultContext) -> None:
    """Start a second scheduler with the arguments of the first; it waits."""
    cluster = context.run.cluster
    first = container_process(context.release, "scheduler")
    port = port_beside(cluster.name)
    command = [_PORT.sub(f"--secure-port={port}", word) for word in first.cmdline()]
    environment = marked_environment(cluster.workdir, os.environ)
    log = cluster.workdir / "logs" / "standby.log"
    with log.open("ab") as output:
        standby = subprocess.Popen(command, env=environment, stdout=output, stderr=output, cwd=cluster.workdir)

    context.on_end(partial(end_child, standby, END_TIMEOUT_S))


def freeze_leader(context: FaultContext) -> None:
    """Stop the leader for longer than its lease, then let it go on where it was."""
    leader = container_process(context.release, "scheduler")
    context.on_end(partial(resume, leader))
    leader.suspend()
