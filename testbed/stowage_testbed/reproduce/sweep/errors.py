"""What can go wrong with a sweep, one class a cause."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stowage_testbed.errors import StowageError


class FolderBusyError(StowageError):
    """Another sweep writes to the folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"another sweep is at work in {folder}; wait for it, or give this one "
            "another folder with --results"
        )


class OtherSweepError(StowageError):
    """The folder holds results of another program or kind."""

    def __init__(self, folder: Path, differences: Sequence[str]) -> None:
        super().__init__(
            f"{folder} holds results that cannot be resumed: "
            f"{'; '.join(differences)}; name another folder with --results, or remove "
            "this one"
        )


class NoSweepError(StowageError):
    """There is nothing to report on."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder} holds no results of a sweep; make some with `stowage reproduce` "
            "and --results"
        )


class ShardFormError(StowageError):
    """A shard is not written as one."""

    exit_code = 2

    def __init__(self, text: str) -> None:
        super().__init__(f"--shard {text!r}: must be i/n with i from 1 to n, as in 2/8")


class ShardsMissingError(StowageError):
    """Some part of the sweep is not among what is merged."""

    def __init__(self, missing: Sequence[str]) -> None:
        super().__init__(
            f"the parts do not make a whole; missing: {', '.join(missing)}; name their "
            "folders too"
        )


class DaskMissingError(StowageError):
    """Dask is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "more than one worker needs Dask; install it with: "
            "pip install 'stowage[sweep]'"
        )


class DaskUnreachableError(StowageError):
    """There is no Dask scheduler at the address."""

    def __init__(self, address: str, why: str) -> None:
        super().__init__(
            f"no Dask scheduler answers at {address} ({why}); start one with: "
            "dask scheduler, and name its address"
        )


class NoWorkersError(StowageError):
    """The Dask scheduler has no worker."""

    def __init__(self, address: str, waited_s: float) -> None:
        super().__init__(
            f"the Dask scheduler at {address} has had no worker for {waited_s:g} s; "
            f"start some with: dask worker {address}"
        )


class WorkersDifferError(StowageError):
    """Workers run other programs than this one."""

    def __init__(self, differing: Sequence[str]) -> None:
        super().__init__(
            "results of different programs must not be mixed; install the same version "
            f"of Stowage and its tools on every worker: {'; '.join(differing)}"
        )
