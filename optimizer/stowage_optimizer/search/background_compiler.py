"""Compiling in another process, on a second core, if nothing is compiled yet.

Numba's compiler holds the lock of the interpreter it runs in, so that only another
process helps. It compiles about half of what there is; what it leaves is loaded.
Nothing here imports Numba: the process is there before the caller has imported it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from stowage_optimizer.search.cache import settle_cache

BACKGROUND_PARTS = ("exploration", "moves")
"""Parts of the warm-up that the other process compiles."""

LAST = "exploration.explore-*.nbi"
"""What is in a cache that was filled once."""

LIMIT_S = 45.0
"""Time for the other process; then the caller compiles what is missing itself."""


class BackgroundCompiler:
    """A process that compiles `BACKGROUND_PARTS`, unless that was done before.

    If the caller ends first, it runs on for some seconds: the next start loads its
    work.
    """

    def __init__(self) -> None:
        place = settle_cache(
            os.environ, Path(__file__).parent, Path(tempfile.gettempdir())
        )
        self._process: subprocess.Popen[bytes] | None = None
        if not any(place.rglob(LAST)):
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "stowage_optimizer.search.warmup",
                    *BACKGROUND_PARTS,
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )

    def wait(self) -> None:
        """Return when the process has ended; it is killed after some time."""
        if self._process is None:
            return
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(LIMIT_S)
        self._process.kill()
        self._process.wait()
