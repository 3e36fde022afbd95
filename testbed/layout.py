"""Where Stowage writes: the checkout and one cache folder, nothing else."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return the one folder outside the checkout that Stowage writes to.

    ``STOWAGE_CACHE`` names it; without it, ``$XDG_CACHE_HOME/stowage`` or
    ``~/.cache/stowage``.
    """
    named = os.environ.get("STOWAGE_CACHE")
    if named:
        return Path(named).expanduser().resolve()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "stowage"


def tools_folder() -> Path:
    """Return the folder of the built tools: ``<tool>/<version>-<key>/``."""
    return cache_folder() / "tools"


def clusters_folder() -> Path:
    """Return the folder of the live clusters' work directories, one a cluster."""
    return cache_folder() / "clusters"


def go_environment() -> dict[str, str]:
    """Return the environment that keeps Go's caches inside the cache folder."""
    cache = cache_folder()
    return {
        "GOCACHE": str(cache / "go-build"),
        "GOMODCACHE": str(cache / "go-mod"),
        "CGO_ENABLED": "0",
        "GOFLAGS": "-mod=readonly",
    }
