"""Settings of the machine come back, however the block ends."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.engine.sysctls import kept_sysctls

NAME = "kernel/panic"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "sys"
    (root / "kernel").mkdir(parents=True)
    (root / NAME).write_text("1\n")
    return root


def test_what_was_changed_is_put_back(root: Path, tmp_path: Path) -> None:
    """A kubelet changes how the whole machine panics."""
    with kept_sysctls(tmp_path / "kept", root):
        (root / NAME).write_text("10\n")

    assert (root / NAME).read_text() == "1\n"
    assert not (tmp_path / "kept").exists()


def test_it_is_put_back_also_after_an_error(root: Path, tmp_path: Path) -> None:
    """A cluster that fails has changed them all the same."""
    with suppress(RuntimeError), kept_sysctls(tmp_path / "kept", root):
        (root / NAME).write_text("10\n")
        raise RuntimeError

    assert (root / NAME).read_text() == "1\n"


def test_a_killed_block_s_settings_come_back_with_the_next(
    root: Path, tmp_path: Path
) -> None:
    """Nobody can clean up after SIGKILL, but somebody may come later."""
    (tmp_path / "kept").write_text(json.dumps({NAME: "1"}))
    (root / NAME).write_text("10\n")

    with kept_sysctls(tmp_path / "kept", root):
        assert (root / NAME).read_text() == "1\n"

    assert (root / NAME).read_text() == "1\n"


def test_what_nobody_changed_is_not_written(root: Path, tmp_path: Path) -> None:
    """In a container most of them can be read only."""
    (root / NAME).chmod(0o444)
    before = (root / NAME).stat().st_mtime_ns

    with kept_sysctls(tmp_path / "kept", root):
        pass

    assert (root / NAME).stat().st_mtime_ns == before
