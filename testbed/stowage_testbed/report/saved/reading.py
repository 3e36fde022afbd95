"""Reads the document of a run."""

from __future__ import annotations

from pathlib import Path

import msgspec

from stowage_testbed.errors import InputError
from stowage_testbed.report.bundle import RUN_FILE
from stowage_testbed.report.document import FORMAT
from stowage_testbed.report.saved.run import SavedRun


def read_run(folder: Path) -> SavedRun:
    """Return the run of a results bundle.

    Raises
    ------
    InputError
        There is none, it cannot be read, or is of another format.
    """
    path = folder / RUN_FILE
    if not path.is_file():
        raise InputError(
            f"{folder} holds neither a run (run.json) nor a comparison (compare.json); "
            "name the folder that `stowage run` or `stowage compare` printed at its end"
        )
    try:
        run = msgspec.json.decode(path.read_bytes(), type=SavedRun)
    except msgspec.MsgspecError as error:
        raise _broken(path, str(error)) from error
    if run.format != FORMAT:
        raise _broken(path, f"format {run.format!r}, this reads {FORMAT!r}")
    return run


def _broken(path: Path, cause: str) -> InputError:
    return InputError(
        f"{path} cannot be read: {cause}; put it back as it was written, or run "
        "the scenarios again with this version"
    )
