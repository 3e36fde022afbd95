"""One command as a process that cannot outlive the daemon, and its variables."""

import asyncio
import contextlib
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from stowage_testbed.hostpods.node import HostPodsError, Manifest

LAUNCHER = Path(__file__).with_name("launch.py")
LOG_CAP_BYTES = 10 * 1024 * 1024
"""A log is turned over at this size, as a kubelet does by default."""
OUTPUT_CAP_BYTES = 4096
KILLED_CODE = 137
HOST_VARIABLES = ("PATH", "LANG")
"""All that a process inherits from this machine, in place of an image's own."""

_REFERENCE = re.compile(r"\$(?:\$|\((?P<name>[^()\s]+)\))")


def container_environment(container: Manifest, api_url: str) -> dict[str, str]:
    """Return the variables in the kubelet's order: those of the node, then ``env``."""
    address = urlsplit(api_url)
    port = str(address.port or 443)
    variables = {
        **{name: os.environ[name] for name in HOST_VARIABLES if name in os.environ},
        "KUBERNETES_SERVICE_HOST": address.hostname or "",
        "KUBERNETES_SERVICE_PORT": port,
        "KUBERNETES_SERVICE_PORT_HTTPS": port,
    }
    for entry in container.get("env", ()):
        variables[entry["name"]] = expand(entry.get("value", ""), variables)
    return variables


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace Kubernetes' own ``$(NAME)`` in values, commands and arguments.

    A name without a value stays as it is, and ``$$(NAME)`` means a literal ``$(NAME)``, as the API's reference has it.
    """
    return _REFERENCE.sub(lambda match: variables.get(match["name"], match[0]) if match["name"] else "$", text)


class ContainerProcess:
    """A running command, with its variables and folder; made by `start_process`."""

    def __init__(self, launcher: asyncio.subprocess.Process, pid: int, env: Mapping[str, str], cwd: Path) -> None:
        self._launcher = launcher
        self.pid, self.env, self.cwd = pid, env, cwd
        self._ended = asyncio.Event()
        self.ending: asyncio.Task[None] | None = None

    def end(self, grace_s: float) -> asyncio.Task[None]:
        """Ask the main process to end (SIGTERM), and kill it after the grace period; once is enough."""

        async def terminate() -> None:
            self._order(b"TERM\n")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace_s):
                    await self._ended.wait()
            self.kill()
            await self._ended.wait()

        if self.ending is None:
            self.ending = asyncio.create_task(terminate())
        return self.ending

    def kill(self) -> None:
        """Kill the process and all its descendants, if it still runs."""
        self._order(b"KILL\n")

    async def wait(self) -> tuple[int, str]:
        """Return exit code (128 + n for signal n) and output once the process and all its descendants have ended."""
        answer = await _answer(self._launcher)
        await self._launcher.wait()
        self._ended.set()
        if answer is None:  # the launcher itself was killed, and took its child along
            return KILLED_CODE, ""
        return int(answer["code"]), str(answer["output"])

    def _order(self, line: bytes) -> None:
        pipe = self._launcher.stdin
        if pipe is not None and not pipe.is_closing():
            pipe.write(line)


async def start_process(
    argv: Sequence[str], env: Mapping[str, str], cwd: Path, log: Path | None = None
) -> ContainerProcess:
    """Start a command; its output is appended to the log, or the end of it comes with the exit."""
    order = {
        "argv": list(argv),
        "env": dict(env),
        "cwd": str(cwd),
        "log": str(log) if log else None,
        "cap_bytes": LOG_CAP_BYTES if log else OUTPUT_CAP_BYTES,
    }
    launcher = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", str(LAUNCHER),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    assert launcher.stdin is not None  # noqa: S101 - started with a pipe
    launcher.stdin.write(json.dumps(order).encode() + b"\n")
    try:
        answer = await _answer(launcher)
    except asyncio.CancelledError:
        launcher.stdin.close()  # which ends the launcher and whatever it started
        await launcher.wait()
        raise
    if answer is None or "error" in answer:
        await launcher.wait()
        cause = str(answer["error"]) if answer else "its launcher was killed"
        raise HostPodsError(
            "CreateContainerError",
            f"cannot start {argv[0]!r}: {cause}; the command must be an "
            "executable of this machine, best by its absolute path",
        )
    return ContainerProcess(launcher, int(answer["pid"]), env, cwd)


async def run_to_end(
    argv: Sequence[str], env: Mapping[str, str], cwd: Path, timeout_s: float
) -> tuple[int, str] | None:
    """Run a command to its end; ``None`` when it was killed at the time-out. Raises as `start_process` does."""
    process = await start_process(argv, env, cwd)
    waiting = asyncio.ensure_future(process.wait())
    try:
        # Not wait_for: in Python 3.11 it forgets a cancellation that comes at the end.
        async with asyncio.timeout(timeout_s):
            return await asyncio.shield(waiting)
    except TimeoutError:
        return None
    finally:
        process.kill()
        await asyncio.shield(waiting)


async def _answer(launcher: asyncio.subprocess.Process) -> dict[str, Any] | None:
    assert launcher.stdout is not None  # noqa: S101 - started with a pipe
    with contextlib.suppress(ConnectionResetError):
        if line := await launcher.stdout.readline():
            answer: dict[str, Any] = json.loads(line)
            return answer
    return None
