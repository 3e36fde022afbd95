"""Reads the document of a run."""

from __future__ import annotations

from pathlib import Path

import msgspec

from stowage_testbed.report.bundle import RUN_FILE
from stowage_testbed.report.document import FORMAT
from stowage_testbed.report.saved.errors import RunBrokenError, RunMissingError
from stowage_testbed.report.saved.run import SavedRun


def read_run(folder: Path) -> SavedRun:
    """Return the run of a results bundle.

    Raises
    ------
    RunMissingError
        There is none.
    RunBrokenError
        Its document cannot be read, or is of another format.
    """
    path = folder / RUN_FILE
    if not path.is_file():
        raise RunMissingError(folder)
    try:
        run = msgspec.json.decode(path.read_bytes(), type=SavedRun)
    except msgspec.MsgspecError as error:
        raise RunBrokenError(path, str(error)) from error
    if run.format != FORMAT:
        raise RunBrokenError(path, f"format {run.format!r}, this reads {FORMAT!r}")
    return run
