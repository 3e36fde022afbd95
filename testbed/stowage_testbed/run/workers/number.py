"""How many workers a run gets where nobody says it."""

from __future__ import annotations

import os

import psutil

from stowage_testbed.base.errors import InputError
from stowage_testbed.cluster.backend import Backend
from stowage_testbed.run.request import RunRequest
from stowage_testbed.run.workers.tasks import list_tasks, needs_machine

CLUSTER_BYTES = 1536 << 20
"""Room for a cluster with a few hundred pods, its release and the process that uses it:
an estimate."""
CLUSTERS_A_CORE = 1.5
"""A scenario waits more than it works: one at a time takes 0.4 of a core, three at a
time on two cores took 80 s where two took 91 and one 150."""
TASKS_A_CLUSTER = 4
"""A cluster takes as long to come up as a small scenario or two."""


def choose_jobs(request: RunRequest, asked: int | None) -> int:
    """Return how many scenarios to run at a time.

    Raises
    ------
    InputError
        Several are asked for on a cluster that is up.
    """
    if request.cluster is not None and asked is not None and asked > 1:
        raise InputError(f"{asked} scenarios at a time need {asked} clusters: leave --cluster or --jobs out")
    tasks = list_tasks(request)
    together = sum(not needs_machine(one.scenario) for one in tasks)
    if asked is not None:
        return max(1, min(asked, together))
    is_plain = request.backend is Backend.KWOK_BINARY
    if request.cluster is not None or request.keep_cluster or not is_plain:
        return 1
    return choose_number(together, len(os.sched_getaffinity(0)), psutil.virtual_memory().available)


def choose_number(tasks: int, cores: int, free_bytes: int) -> int:
    """Return how many clusters so many tasks, cores and bytes are good for."""
    good_for = int(cores * CLUSTERS_A_CORE)
    return max(1, min(good_for, free_bytes // CLUSTER_BYTES, tasks // TASKS_A_CLUSTER))
