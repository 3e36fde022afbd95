"""Jobs for the child of a worker, which must be importable there."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import pytest

from stowage_testbed.cluster.interruption import ending_cleanly
from stowage_testbed.errors import StowageError


def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let children import this file."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


@dataclass(frozen=True, slots=True)
class Says:
    """A job that returns a word and the process that says it."""

    word: str

    def run(self, folder: Path) -> tuple[str, int, bool]:
        return self.word, os.getpid(), folder.is_dir()


@dataclass(frozen=True, slots=True)
class Refuses:
    """A job that fails in a way that is known."""

    def run(self, folder: Path) -> None:
        raise StowageError("kube-apiserver is not installed")


@dataclass(frozen=True, slots=True)
class Dies:
    """A job whose process is killed."""

    def run(self, folder: Path) -> None:
        os.write(1, b"so far so good\n")
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class Waits:
    """A job that goes on until it is ended, and notes its begin and its clean end."""

    notes: Path

    def run(self, folder: Path) -> None:
        with ending_cleanly():
            try:
                (self.notes / "begun").write_text(str(os.getpid()))
                Event().wait()
            finally:
                (self.notes / "ended").touch()
