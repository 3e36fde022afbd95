"""A process that this one has started: run to its end, ended, and the end of its log."""

import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from stowage_testbed.base import health

TAIL_LINES = 12  # Lines of a log that an error message shows


def run_child(
    command: Sequence[str], timeout_s: float, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, as `subprocess.run` does, but no longer than what the run needs is well."""
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        deadline_s = time.monotonic() + timeout_s
        try:
            while True:
                try:
                    said, errors = process.communicate(timeout=health.LOOK_EVERY_S)
                    return subprocess.CompletedProcess(command, process.returncode, said, errors)
                except subprocess.TimeoutExpired:
                    if time.monotonic() >= deadline_s:
                        raise subprocess.TimeoutExpired(list(command), timeout_s) from None
                    health.check()
        except BaseException:
            process.kill()
            raise


class Child:
    """A process beside this one, with a log, and a session of its own: no interrupt from the keyboard ends it.

    ``tied`` gives it a standard input that is never written to, for a program that ends with it: it then ends with this
    process, also if that is killed. Raises `OSError` if the command cannot be run.
    """

    def __init__(
        self, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None, *, tied: bool = False
    ) -> None:
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                list(command),
                env=environment,
                stdin=subprocess.PIPE if tied else subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.pid = self._process.pid

    def exit_code(self) -> int | None:
        """Return the code with which it has ended, `None` while it runs."""
        return self._process.poll()

    def wait(self) -> int:
        """Wait for its end, and return its exit code."""
        return self._process.wait()

    def __enter__(self) -> Self:
        """Let it live for the block at most."""
        return self

    def __exit__(self, *_: object) -> None:
        """Kill it, if it still runs."""
        self._process.kill()
        self.end(0)

    def end(self, patience_s: float) -> None:
        """Ask it to end, kill it after ``patience_s``, and collect its end."""
        end_child(self._process, patience_s)
        if self._process.stdin is not None:
            self._process.stdin.close()


def end_child(process: subprocess.Popen[bytes], patience_s: float) -> None:
    """Ask a child to end, kill it after ``patience_s``, and collect its end."""
    process.terminate()
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def log_end(file: Path, lines: int = TAIL_LINES, indent: str = "") -> str:
    """Return the last lines of a log, if there is one, as an error message shows them."""
    text = ""
    with suppress(OSError):
        text = file.read_text(encoding="utf-8", errors="replace")
    tail = [line for line in text.splitlines() if line.strip()][-lines:] or ["(it wrote nothing)"]
    return "\n".join(indent + line for line in tail)
