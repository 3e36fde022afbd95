"""What every command that can use many workers has in common: its words."""

from __future__ import annotations

from typing import Annotated

import typer

from stowage_testbed.errors import InputError

Workers = Annotated[int, typer.Option(min=1, help="Processes, which share the cores.")]
DaskAddress = Annotated[
    str | None, typer.Option(help="Address of a Dask scheduler, whose workers do it.")
]


def scales_out(workers: int, dask: str | None, **unfit: bool) -> bool:
    """Return whether workers are to do it.

    Parameters
    ----------
    unfit
        Whether options were given that say which cluster is used, by name: workers
        make clusters of their own.

    Raises
    ------
    InputError
        Workers are asked for together with such an option.
    """
    if workers == 1 and dask is None:
        return False
    asked = "--dask" if dask is not None else "--workers"
    for name, given in unfit.items():
        if given:
            raise InputError(
                f"{asked} and --{name.replace('_', '-')} do not go together: every "
                "worker makes a cluster of its own; leave one of them out"
            )
    return True
