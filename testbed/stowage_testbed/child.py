"""Ending a process that this one has started."""

from __future__ import annotations

import subprocess


def end_child(process: subprocess.Popen[bytes], patience_s: float) -> None:
    """Ask a child to end, kill it after ``patience_s``, and collect its end."""
    process.terminate()
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
