"""Where Stowage reads and writes: what it ships, and one cache folder."""

import os
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_DATA = _PACKAGE / "_data"  # Where a wheel has what lies beside `testbed` in a checkout


def checkout() -> Path | None:
    """Return the checkout that this package lies in; ``None`` if it was installed."""
    return None if _DATA.is_dir() else _PACKAGE.parents[1]


def shipped(name: str) -> Path:
    """Return a folder that Stowage ships, as ``charts``: the checkout's own, or the wheel's; only to be read."""
    return (checkout() or _DATA) / name


def cache_folder() -> Path:
    """Return the one folder outside the checkout that Stowage writes to: ``STOWAGE_CACHE``, or one of the XDG cache."""
    named = os.environ.get("STOWAGE_CACHE")
    if named:
        return Path(named).expanduser().resolve()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "stowage"


def tools_folder() -> Path:
    """Return the folder of the built tools: ``<tool>/<version>-<key>/``."""
    return cache_folder() / "tools"


def clusters_folder() -> Path:
    """Return the folder of the live clusters' work directories, one a cluster.

    ``STOWAGE_CLUSTERS`` names a folder of the cache to have it in: what runs there neither sees nor removes the
    clusters of others.
    """
    # kwokctl has a name of its own for the last part.
    return cache_folder() / os.environ.get("STOWAGE_CLUSTERS", "") / "clusters"
