"""A child process that reads lines and writes lines, such as ``stowage-simulate``."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Self

from stowage_testbed.base.errors import StowageError


class LineProcess:
    """A child process, for as long as the ``with`` block lasts; it is killed with its own children."""

    def __init__(self, command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> None:
        self._command = [str(part) for part in command]
        self._environment = environment or {}
        self._lines: SimpleQueue[bytes] = SimpleQueue()
        self._process: subprocess.Popen[bytes] | None = None
        self._stderr: IO[bytes]
        self._reader: threading.Thread

    def __enter__(self) -> Self:
        # A file, not a pipe: nobody has to empty it while the process runs.
        self._stderr = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env={**os.environ, **self._environment},
            start_new_session=True,
        )
        # Without it, neither side would read while both have much to write.
        self._reader = threading.Thread(target=self._read_all, args=(self._process,), daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        process = self._running()
        process.wait()
        self.close_input()
        self._reader.join()
        self._stderr.close()
        self._process = None

    def write(self, line: bytes) -> None:
        """Send a line, which may be passed on together with the next ones."""
        stdin = self._running().stdin
        # A process that has ended reads nothing; the next `read` reports its end.
        with suppress(BrokenPipeError):
            if stdin:
                stdin.write(line + b"\n")

    def read(self) -> bytes:
        """Return the next line that the process writes; empty when it has closed its output."""
        stdin = self._running().stdin
        with suppress(BrokenPipeError):
            if stdin and not stdin.closed:
                stdin.flush()
        line = self._lines.get()
        if not line:
            # Whoever reads on gets the same answer.
            self._lines.put(line)
        return line

    def ask(self, line: bytes, about: str, limit_s: float, way_out: str) -> bytes:
        """Send a line and return the next one; a `StowageError` if the process has ended, or is late and was killed."""
        late = threading.Event()

        def stop() -> None:
            late.set()
            self.kill()

        timer = threading.Timer(limit_s, stop)
        timer.start()
        try:
            self.write(line)
            answer = self.read()
        finally:
            timer.cancel()
            timer.join()
        if answer:
            return answer
        if late.is_set():
            raise StowageError(f"{about} was not answered within {limit_s:g} s; {way_out}")
        raise StowageError(f"{self.name} ended with {self.last_words()}")

    def close_input(self) -> None:
        """Tell the process that no line follows."""
        stdin = self._running().stdin
        with suppress(BrokenPipeError):
            if stdin:
                stdin.close()

    def last_words(self) -> str:
        """Wait for the end of the process, and return its exit code with what it wrote to stderr."""
        code = self._running().wait()
        self._stderr.seek(0)
        text = self._stderr.read().decode(errors="replace").strip()
        return f"exit code {code}: {text or 'it wrote no message; was it killed?'}"

    @property
    def name(self) -> str:
        """The command, without the folder that its program is in."""
        program, *arguments = self._command
        return " ".join((Path(program).name, *arguments))

    def kill(self) -> None:
        """Kill the process and its children."""
        # Its number is not given to another process before it is waited for.
        if self._running().returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._running().pid, signal.SIGKILL)

    def _read_all(self, process: subprocess.Popen[bytes]) -> None:
        if process.stdout:
            with process.stdout:
                for line in process.stdout:
                    self._lines.put(line)
        self._lines.put(b"")

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RuntimeError(f"{self.name} runs inside its with block only")
        return self._process
