"""The scheduler profiles that the chart ships."""

from __future__ import annotations

from pathlib import Path

from stowage_testbed import layout
from stowage_testbed.simulate.errors import ProfileMissingError

PROFILE_FOLDER = layout.shipped("charts") / "stowage" / "profiles"


def profile_file(name: str) -> Path:
    """Return the KubeSchedulerConfiguration of a shipped profile.

    Raises
    ------
    ProfileMissingError
        The chart has no such profile.
    """
    file = PROFILE_FOLDER / f"{name}.yaml"
    if not file.is_file():
        known = sorted(other.stem for other in PROFILE_FOLDER.glob("*.yaml"))
        raise ProfileMissingError(name, PROFILE_FOLDER, known)
    return file
