"""A process that this one has started: its end, and the end of its log."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

TAIL_LINES = 12
"""Lines of a log that an error message shows."""


def end_child(process: subprocess.Popen[bytes], patience_s: float) -> None:
    """Ask a child to end, kill it after ``patience_s``, and collect its end."""
    process.terminate()
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def quoted_log(tail: Sequence[str]) -> str:
    """Return a log's last lines as an error message shows them."""
    return "\n  ".join(tail) or "(it wrote nothing)"


def log_tail(file: Path, lines: int = TAIL_LINES) -> list[str]:
    """Return the last lines of a log, none if there is no log."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return [line for line in text.splitlines() if line.strip()][-lines:]
