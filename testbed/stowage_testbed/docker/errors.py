"""What can go wrong with Docker, one class a cause."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stowage_testbed.errors import StowageError


class DockerError(StowageError):
    """The base of this room's errors."""


class EngineUnreachableError(DockerError):
    """No Docker engine answers."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"no Docker engine answers: {why}; start one, name one with DOCKER_HOST, "
            "or put `stowage docker --` before the command, which starts one for it"
        )


class EngineNotStartableError(DockerError):
    """No engine answers, and none can be started here."""

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__(
            f"no Docker engine answers, and none can be started: {'; '.join(reasons)}"
        )


class EngineFailedError(DockerError):
    """The engine that was started ended, or does not answer."""

    def __init__(self, why: str, log: Path, tail: Sequence[str]) -> None:
        lines = "\n".join(f"  {line}" for line in tail)
        super().__init__(
            f"the Docker engine did not start: {why}; last lines of {log}:\n{lines}"
        )


class EngineBusyError(DockerError):
    """Another command has Stowage's engine to itself, and does not end."""

    def __init__(self, folder: Path, timeout_s: float) -> None:
        super().__init__(
            f"another `stowage docker` has used the engine in {folder} for more than "
            f"{timeout_s:g} s; wait for it, or set STOWAGE_CACHE to another folder"
        )


class DockerCommandError(DockerError):
    """Docker refused a command."""

    def __init__(self, command: Sequence[str], said: str) -> None:
        self.said = said.strip()
        super().__init__(f"docker {' '.join(command)} failed: {self.said}")
