"""Which engine a command asks for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from stowage_testbed.reproduce.sweep.engine import Engine, InProcess
from stowage_testbed.reproduce.sweep.errors import DaskMissingError


@contextmanager
def engine_for(workers: int, dask_address: str | None) -> Iterator[Engine]:
    """Yield the engine: a Dask cluster if there is to be more than one worker.

    Raises
    ------
    DaskMissingError
        It is needed, and not installed.
    StowageError
        As `existing_workers` says.
    """
    if dask_address is None and workers == 1:
        yield InProcess()
        return
    if find_spec("distributed") is None:
        raise DaskMissingError
    from stowage_testbed.reproduce.sweep import clusters  # noqa: PLC0415 - optional

    if dask_address is not None:
        with clusters.existing_workers(dask_address) as engine:
            yield engine
    else:
        with clusters.local_workers(workers) as engine:
            yield engine
