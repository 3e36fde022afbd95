"""The variables that every arm's programs get, and nothing else of the user's."""

from __future__ import annotations

import os
from pathlib import Path

_KEPT = ("PATH", "LANG")


def clean_environment(home: Path) -> dict[str, str]:
    """Return an environment in which nothing of the user's is read or written.

    A proxy, a KUBECONFIG or a GOMAXPROCS of the user's would reach some of the arms and
    not the others.
    """
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, "HOME": str(home)}
