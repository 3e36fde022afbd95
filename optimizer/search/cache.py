"""Where compiled code is kept between processes, settled before Numba is imported.

Numba refuses to import a cached function when it finds no place to write to, even if
everything it needs is cached already. So a place is always named: the one that was
asked for, the packages' own folders, or this user's among the temporary files.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import MutableMapping
from pathlib import Path

VARIABLE = "NUMBA_CACHE_DIR"
"""Numba's own variable; what it names is shared by all compiled code."""

OWNER_ONLY = 0o700


def settle_cache(
    environment: MutableMapping[str, str], code: Path, temporary: Path
) -> Path:
    """Return where compiled code goes, and tell Numba if that is not beside ``code``.

    Parameters
    ----------
    environment
        The process's environment; `VARIABLE` may be set in it.
    code
        Folder of the compiled functions' source.
    temporary
        Folder that is writable whatever else is not.
    """
    asked = environment.get(VARIABLE)
    if asked and _writable(Path(asked)):
        return Path(asked)
    if not asked and _writable(code / "__pycache__"):
        return code / "__pycache__"
    # The user's number keeps others from planting code there.
    fallback = temporary / f"stowage-compiled-{os.getuid()}"
    if not _own(fallback):
        fallback = Path(tempfile.mkdtemp(prefix="stowage-compiled-", dir=temporary))
    environment[VARIABLE] = str(fallback)
    return fallback


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _own(folder: Path) -> bool:
    """Tell whether ``folder`` is there, writable, and nobody else's."""
    try:
        folder.mkdir(mode=OWNER_ONLY, exist_ok=True)
        status = folder.lstat()
    except OSError:
        return False
    private = status.st_mode & 0o022 == 0
    return private and status.st_uid == os.getuid() and _writable(folder)
