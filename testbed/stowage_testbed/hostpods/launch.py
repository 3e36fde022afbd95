"""The process between the daemon and a container's process.

It is to a container what a container runtime's shim is: it starts the command, copies its output to a log of bounded
size, and sees to it that nothing of the container outlives it. It is the subreaper of all the container's descendants,
and it kills them when the main process ends, when the daemon says so, or when the daemon's end of the pipe closes,
which the kernel does even for a daemon that was killed outright. (The kernel's parent-death signal alone would not do:
it is tied to the daemon's thread, and it does not reach grandchildren.)

The first line on standard input is the order (JSON: argv, env, cwd, log, cap_bytes); ``TERM`` and ``KILL`` follow as
lines. Standard output carries JSON lines: ``{"pid"}`` or ``{"error"}``, then ``{"code", "output"}``. Only the standard
library is used, so that it can start in isolated mode within milliseconds.
"""

import contextlib
import ctypes
import json
import os
import selectors
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, BinaryIO

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
CHUNK_BYTES = 1 << 16
SIGNAL_BASE = 128


class Log:
    """Keeps the output: in a file that is turned over at its cap, or in memory."""

    def __init__(self, path: str | None, cap_bytes: int) -> None:
        self._path = Path(path) if path else None
        self._cap_bytes = cap_bytes
        self._file: BinaryIO | None = self._path.open("ab") if self._path else None
        self.kept = b""

    def write(self, data: bytes) -> None:
        """Append; a full file becomes ``<name>.1`` and a new one begins."""
        if self._file is None or self._path is None:
            self.kept = (self.kept + data)[-self._cap_bytes :]
            return
        if self._file.tell() + len(data) > self._cap_bytes:
            self._file.close()
            self._path.replace(self._path.with_name(self._path.name + ".1"))
            self._file = self._path.open("ab")
        self._file.write(data)
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def report(**fields: object) -> None:
    """Report to the daemon; a daemon that is gone is not an error."""
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.write(json.dumps(fields) + "\n")
        sys.stdout.flush()


def control_process(option: int, value: int) -> None:
    """Call prctl(2) for this process."""
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def kill_descendants() -> None:
    """Kill until none is left: orphans turn up among the children of this subreaper when their parent dies."""
    while remaining := Path(f"/proc/self/task/{os.getpid()}/children").read_text("ascii").split():
        for pid in remaining:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, 0)


def reap(main_pid: int) -> int | None:
    """Collect ended children; return the main one's exit code once it has ended."""
    code = None
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == main_pid:
                raw = os.waitstatus_to_exitcode(ended[1])
                code = raw if raw >= 0 else SIGNAL_BASE - raw
    return code


def supervise(process: subprocess.Popen[bytes], log: Log) -> int:
    """Wait for output, orders and deaths, all at once; return the process's exit code when nothing of it is left."""
    assert process.stdout is not None  # noqa: S101 - started with a pipe
    output = process.stdout.fileno()
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    selector = selectors.DefaultSelector()
    for fd in (0, output, woken):
        selector.register(fd, selectors.EVENT_READ)
    while (code := reap(process.pid)) is None:
        for fd in [key.fd for key, _ in selector.select()]:
            data = os.read(fd, CHUNK_BYTES)
            if fd == output and data:
                log.write(data)
            elif fd == 0 and (not data or b"KILL" in data):  # without data the daemon is gone
                os.kill(process.pid, signal.SIGKILL)  # what it leaves behind is cleared away below
            elif fd == 0 and b"TERM" in data:
                os.kill(process.pid, signal.SIGTERM)
            if not data:
                selector.unregister(fd)
    kill_descendants()
    os.set_blocking(output, False)
    with contextlib.suppress(BlockingIOError):
        while data := os.read(output, CHUNK_BYTES):
            log.write(data)
    return code


def main() -> None:
    """Carry out one order."""
    line = b""
    while not line.endswith(b"\n"):  # byte by byte: what follows the line is for the supervisor
        if not (byte := os.read(0, 1)):
            return
        line += byte
    order: dict[str, Any] = json.loads(line)
    control_process(PR_SET_CHILD_SUBREAPER, 1)
    log = Log(order["log"], order["cap_bytes"])
    try:
        # In a session of its own, without standard input.
        process = subprocess.Popen(
            order["argv"],
            env=order["env"],
            cwd=order["cwd"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            # Safe: this process has one thread only.
            preexec_fn=lambda: control_process(PR_SET_PDEATHSIG, signal.SIGKILL),  # noqa: PLW1509
        )
    except OSError as error:
        report(error=f"{error.strerror}: {error.filename}")
        return
    report(pid=process.pid)
    code = supervise(process, log)
    report(code=code, output=log.kept.decode(errors="replace"))


if __name__ == "__main__":
    main()
