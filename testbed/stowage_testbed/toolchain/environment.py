"""What a result depends on: machine, versions, and the optimiser's source."""

import hashlib
import importlib.metadata
import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

import psutil

import stowage_optimizer
from stowage_testbed.base import layout
from stowage_testbed.toolchain.location import binary_file, source_of
from stowage_testbed.toolchain.manifest import choose_minor, find_minor, load_manifest

PACKAGES = ("stowage", "ortools", "numba", "numpy", "kubernetes", "grpcio", "protobuf")
GIT_TIMEOUT_S = 60
DIGEST_LENGTH = 12


def machine() -> dict[str, Any]:
    """Return what of the machine affects a figure."""
    return {
        "system": platform.platform(),
        "architecture": platform.machine(),
        "cpus": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "python": platform.python_version(),
    }


def package_versions() -> dict[str, str]:
    """Return the versions of the Python packages that decide a result."""
    return {name: importlib.metadata.version(name) for name in PACKAGES}


def environment(minor: str | None = None) -> dict[str, Any]:
    """Return the machine and every version, as a results bundle records them, with the tools of a minor."""
    minor = choose_minor(minor)
    tools = load_manifest().tools(minor)
    commit = git("rev-parse", "HEAD")
    status = git("status", "--porcelain", "--untracked-files=no")
    return {
        "machine": machine(),
        "kubernetes": find_minor(minor).kubernetes,
        "source": {"commit": commit, "modified": None if status is None else bool(status)},
        "packages": package_versions(),
        "tools": {name: tool.version for name, tool in tools.items()},
        "tool_sources": {
            name: source_of(file) for name, tool in tools.items() if (file := binary_file(tool)).is_file()
        },
    }


def source_digest() -> str:
    """Return a short hash of the optimiser's source."""
    digest = hashlib.sha256()
    root = Path(stowage_optimizer.__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:DIGEST_LENGTH]


def git(*arguments: str) -> str | None:
    """Return what Git says of the checkout; ``None`` outside one, or without Git."""
    checkout, git = layout.checkout(), shutil.which("git")
    if checkout is None or git is None:
        return None
    try:
        answer = subprocess.run(
            [git, "-C", str(checkout), *arguments], capture_output=True, text=True, timeout=GIT_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return None  # on a busy disk: hours of measurements must not end of it
    return answer.stdout.strip() if answer.returncode == 0 else None
