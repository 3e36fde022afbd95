"""Dask clusters: one of this machine for the sweep, or one that is there."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

import dask
from distributed import Client, LocalCluster
from distributed.security import Security

from stowage_testbed.errors import StowageError
from stowage_testbed.reproduce.sweep.errors import (
    DaskUnreachableError,
    NoWorkersError,
    WorkersDifferError,
)
from stowage_testbed.reproduce.sweep.on_dask import OnDask
from stowage_testbed.reproduce.sweep.program import differences, program

CONNECT_S = 20
WORKERS_S = 60

SETTINGS = {
    # The web servers cannot be left out; they stay on the loopback and show nothing.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    # Solvers keep the cores busy; that is no reason for warnings.
    "distributed.admin.tick.limit": "60s",
    # A worker holds the task that it works on and no other, which would die with it.
    "distributed.scheduler.worker-saturation": 1.0,
}


@contextmanager
def local_workers(count: int) -> Iterator[OnDask]:
    """Yield an engine of ``count`` processes, which share the cores.

    They talk through the loopback and with certificates that live as long as the
    cluster: a port that runs what it is sent must not be open to other users.
    """
    cores = max(1, (os.cpu_count() or 1) // count)
    with (
        dask.config.set(SETTINGS),
        TemporaryDirectory(prefix="sto-dask-") as folder,
        LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
            security=Security.temporary(),
            silence_logs=logging.CRITICAL,
            memory_limit=0,
            local_directory=folder,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield OnDask(client, count, cores)


@contextmanager
def existing_workers(address: str) -> Iterator[OnDask]:
    """Yield an engine of the workers of the Dask scheduler at ``address``.

    Raises
    ------
    DaskUnreachableError, NoWorkersError
        No scheduler answers, or it has no workers.
    WorkersDifferError
        Their programs are not this one's.
    """
    try:
        client = Client(address, timeout=CONNECT_S)
    except (OSError, ValueError) as error:
        raise DaskUnreachableError(address, str(error) or "no answer") from error
    with client:
        try:
            client.wait_for_workers(1, timeout=WORKERS_S)
        except TimeoutError as error:
            raise NoWorkersError(address, WORKERS_S) from error
        _refuse_other_programs(client)
        yield OnDask(client, len(client.scheduler_info()["workers"]))


def _refuse_other_programs(client: Client) -> None:
    here = program()
    there: dict[str, dict[str, str] | str] = client.run(_program_or_error)
    differing = []
    for worker, found in there.items():
        differing_here = [found] if isinstance(found, str) else differences(here, found)
        differing += [f"{worker}: {one}" for one in differing_here]
    if differing:
        raise WorkersDifferError(differing)


def _program_or_error() -> dict[str, str] | str:
    try:
        return program()
    except StowageError as error:
        return str(error)
