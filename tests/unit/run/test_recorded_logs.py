"""The logs that a scenario's evidence has."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from stowage_testbed.helm.release import FileLog
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.listener import Listener
from stowage_testbed.run.recorder import RunRecorder
from stowage_testbed.run.serving import Serving, Wanted


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "scheduler.log"
    file.write_text("said before\n")
    return file


def recorded(log: Path, *, kept: bool) -> RunRecorder:
    """Return a recorder that follows a release which has said something."""
    context = SimpleNamespace(
        cluster=SimpleNamespace(audit_log=log.parent / "audit.log"),
        observer=SimpleNamespace(restart_journal=list),
    )
    release = SimpleNamespace(logs=lambda: {"scheduler": FileLog(log)})
    recorder = RunRecorder(cast("RunContext", context), Listener())
    wanted = Wanted("default", optimizer_enabled=False)
    recorder.note_release(Serving(cast("Any", release), wanted, "", kept=kept))
    return recorder


def test_a_release_that_was_kept_has_said_nothing_before(log: Path) -> None:
    """What it said of other scenarios explains nothing of this one."""
    recorder = recorded(log, kept=True)

    with log.open("a") as file:
        file.write("said now\n")

    assert recorder.log_texts() == {"default-scheduler": "said now\n"}


def test_a_new_release_is_heard_from_its_start(log: Path) -> None:
    """It says how it was configured before it serves."""
    assert recorded(log, kept=False).log_texts() == {
        "default-scheduler": "said before\n"
    }
