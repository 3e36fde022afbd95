"""Running compiled loops with every index checked, in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stowage_optimizer.search.cache import VARIABLE


def run_with_checked_indices(script: str, beside: str, cache: pytest.Cache) -> None:
    """Run ``script``, which fails where an index is out of bounds.

    Compiling takes long, so that what was compiled is kept until a source changes.

    Parameters
    ----------
    script
        Python.
    beside
        The test's own file; the script imports from its folder.
    cache
        Where to keep what is compiled with checks, apart from what is without.
    """
    kept = cache.mkdir("checked-indices")
    path = [str(Path(beside).parent), *sys.path]
    subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        env={
            **os.environ,
            "NUMBA_BOUNDSCHECK": "1",
            VARIABLE: str(kept),
            "PYTHONPATH": os.pathsep.join(path),
        },
    )
