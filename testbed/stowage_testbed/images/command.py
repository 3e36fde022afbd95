"""Running the programs that build images."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence

from stowage_testbed.base.errors import StowageError

BUILDERS = ("buildah", "mmdebstrap")
"""Both are packages of Debian and Ubuntu."""

_TAIL_LINES = 15


def check_builders() -> None:
    """Check that all programs are there.

    Raises
    ------
    StowageError
        Some are not; says how to install them.
    """
    missing = [name for name in BUILDERS if shutil.which(name) is None]
    if missing:
        raise StowageError(
            f"{' and '.join(missing)} not found; on Debian and Ubuntu: apt-get install {' '.join(missing)}"
        )


def run(image: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
    """Run one command of a build.

    Raises
    ------
    StowageError
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
        lines = [f"  {line}" for line in done.stdout.splitlines()[-_TAIL_LINES:]]
        raise StowageError(f"image {image}: {' '.join(command[:3])} failed; its last lines:\n" + "\n".join(lines))
