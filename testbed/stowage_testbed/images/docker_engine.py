"""Commands for the Docker engine, through its own command line.

kind calls that command line too, so that both mean the same engine: that of ``DOCKER_HOST``, of Docker's context, or of
the standard socket.
"""

import shutil
import subprocess
from collections.abc import Sequence

from stowage_testbed.base.errors import StowageError

DOCKER = "docker"
TIMEOUT_S = 120.0
_ANSWER_S = 20.0


class EngineUnreachableError(StowageError):
    """No Docker engine answers."""


class DockerCommandError(StowageError):
    """Docker refused a command."""

    def __init__(self, command: Sequence[str], said: str) -> None:
        self.said = said.strip()
        super().__init__(f"docker {' '.join(command)} failed: {self.said}")


def docker(*arguments: str, timeout_s: float = TIMEOUT_S, engine: str = "", merge: bool = False) -> str:
    """Run one command and return what it prints, without the last line's end; ``merge`` adds its standard error.

    The ``engine`` is named as in ``DOCKER_HOST``; without, it is that of the environment. Raises a DockerCommandError
    with what Docker said, and an EngineUnreachableError if Docker is not there or hangs.
    """
    program = shutil.which(DOCKER)
    if program is None:
        raise _unreachable("there is no docker on the PATH (on Debian: apt-get install docker.io)")
    try:
        done = subprocess.run(
            [program, *(("--host", engine) if engine else ()), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merge else subprocess.PIPE,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise _unreachable(f"docker {arguments[0]} took more than {timeout_s:g} s") from error
    if done.returncode:
        raise DockerCommandError(arguments, done.stderr or done.stdout)
    return done.stdout.rstrip("\n")


def engine_unavailable_reason(engine: str = "") -> str:
    """Return why no engine answers; empty if one does."""
    try:
        docker("version", "--format", "{{.Server.Version}}", timeout_s=_ANSWER_S, engine=engine)
    except DockerCommandError as error:
        return error.said.splitlines()[-1] if error.said else "docker says nothing"
    except EngineUnreachableError as error:
        return str(error.__cause__ or "there is no docker on the PATH")
    return ""


def check_engine() -> None:
    """Raise `EngineUnreachableError`, with the reason, unless an engine answers."""
    if why := engine_unavailable_reason():
        raise _unreachable(why)


def image_id(reference: str) -> str:
    """Return the digest of an image that the engine has; empty if it has none. No registry is asked."""
    listed = docker("image", "ls", "--no-trunc", "--format", "{{.ID}}", reference)
    return listed.splitlines()[0] if listed else ""


def _unreachable(why: str) -> EngineUnreachableError:
    return EngineUnreachableError(f"no Docker engine answers: {why}; start one, or name one with DOCKER_HOST")
