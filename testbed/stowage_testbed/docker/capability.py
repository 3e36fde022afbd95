"""What the kernel lets even root do here."""

from __future__ import annotations

from pathlib import Path

SYS_RESOURCE = 24
"""Number of CAP_SYS_RESOURCE in linux/capability.h."""

_STATUS = Path("/proc/self/status")


def is_withheld(capability: int, status: Path = _STATUS) -> bool:
    """Return whether a capability is outside this process's bounding set."""
    for line in status.read_text("ascii", errors="replace").splitlines():
        name, _, value = line.partition(":")
        if name == "CapBnd":
            return not int(value.strip(), 16) >> capability & 1
    return False
