"""Running the programs that build images."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence

from stowage_testbed.images.errors import BuilderMissingError, ImageBuildError

BUILDERS = ("buildah", "mmdebstrap")
"""Both are packages of Debian and Ubuntu."""

_TAIL_LINES = 15


def check_builders() -> None:
    """Check that all programs are there.

    Raises
    ------
    BuilderMissingError
        Some are not; says how to install them.
    """
    missing = [name for name in BUILDERS if shutil.which(name) is None]
    if missing:
        raise BuilderMissingError(missing)


def run(
    image: str,
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run one command of a build.

    Raises
    ------
    ImageBuildError
        It failed; carries its last lines.
    """
    done = subprocess.run(
        command,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        tail = done.stdout.splitlines()[-_TAIL_LINES:]
        raise ImageBuildError(image, [" ".join(command[:3])], tail)
