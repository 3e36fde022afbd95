"""Two schedulers and a lease that changes hands although its holder is not dead."""

from __future__ import annotations

import os
import re
import subprocess
from functools import partial

from stowage_testbed.child import end_child
from stowage_testbed.cluster.ports import port_beside
from stowage_testbed.cluster.processes import marked_environment
from stowage_testbed.faults.context import FaultContext
from stowage_testbed.faults.processes import container_process, resume

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
        standby = subprocess.Popen(
            command, env=environment, stdout=output, stderr=output, cwd=cluster.workdir
        )

    context.on_end(partial(end_child, standby, END_TIMEOUT_S))


def freeze_leader(context: FaultContext) -> None:
    """Stop the leader for longer than its lease, then let it go on where it was."""
    leader = container_process(context.release, "scheduler")
    context.on_end(partial(resume, leader))
    leader.suspend()
