"""Running compiled loops with every index checked, in a process of their own."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import optimizer
from optimizer.search.cache import VARIABLE

PREFIX = "checked-"
DECORATED = b"compiling"
"""Named by every file that compiles something: where the decorators come from."""


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
    kept = cache.mkdir(PREFIX + _sources())
    for other in kept.parent.glob(f"{PREFIX}*"):
        if other != kept:
            shutil.rmtree(other)
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


def _sources() -> str:
    """Return a mark of every file that brings compiled functions.

    Numba looks at the file of a function only, not at those of its parts.
    """
    digest = hashlib.sha256()
    for path in sorted(Path(optimizer.__file__).parent.rglob("*.py")):
        source = path.read_bytes()
        if DECORATED in source:
            digest.update(source)
    return digest.hexdigest()[:12]
