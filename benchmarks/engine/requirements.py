"""Whether an engine can be started here, and what is missing if not."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Callable

PROGRAMS = {
    "docker": "docker.io",
    "dockerd": "docker.io",
    "containerd": "containerd",
    "runc": "runc",
    "iptables": "iptables",
    "ip": "iproute2",
    "unshare": "util-linux",
    "setpriv": "util-linux",
}
"""What is called, and the package of Debian's that it is in."""

ROOT = 0


NAMESPACES = ("unshare", "--net", "--mount", "--")
"""Before a command that gets a network and mounts of its own."""


def namespaces_unavailable_reason() -> str:
    """Return why no namespaces can be made here; empty if they can."""
    program = shutil.which(NAMESPACES[0]) or NAMESPACES[0]
    done = subprocess.run(
        [program, *NAMESPACES[1:], "true"], capture_output=True, text=True, check=False
    )
    return done.stderr.strip() if done.returncode else ""


def unstartable_reasons(
    which: Callable[[str], str | None] = shutil.which,
    user: Callable[[], int] = os.geteuid,
    system: Callable[[], str] = platform.system,
    namespaces: Callable[[], str] = namespaces_unavailable_reason,
) -> list[str]:
    """Return every reason why no engine can be started here; empty if one can."""
    if system() != "Linux":
        return [f"only Linux has what it needs, and this is {system()}"]
    reasons = []
    if user() != ROOT:
        reasons.append("only root may start one")
    missing = [name for name in PROGRAMS if which(name) is None]
    if missing:
        packages = " ".join(sorted({PROGRAMS[name] for name in missing}))
        reasons.append(
            f"{', '.join(missing)} not found (on Debian: apt-get install {packages})"
        )
    if not reasons and (why := namespaces()):
        reasons.append(f"no namespaces can be made here ({why})")
    return reasons
