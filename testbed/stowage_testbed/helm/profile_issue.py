"""Where a profile is wrong, from what the scheduler says as it refuses it."""

from __future__ import annotations

import re
from pathlib import Path

_ERROR = re.compile(r'^[EF]\d{4} .*\berr="(?P<said>(?:[^"\\]|\\.)*)"')
_QUOTED = re.compile(r'"([^"]+)"')


def said_last(log: list[str]) -> str:
    """Return the last error in a log of klog's; empty if there is none."""
    for line in reversed(log):
        if match := _ERROR.match(line):
            return re.sub(r"\\(.)", r"\1", match["said"])
    return ""


def profile_issue(profile: Path, said: str) -> str:
    """Return ``file:line: error`` if the error names something of the profile.

    Parameters
    ----------
    profile
        The profile's file.
    said
        The scheduler's error, which quotes fields as paths, as in
        ``profiles[0].plugins``, and plugins by name.
    """
    lines = profile.read_text("utf-8").splitlines()
    for quoted in _QUOTED.findall(said):
        name = re.escape(quoted.rpartition(".")[2])
        for number, line in enumerate(lines, start=1):
            if re.search(rf"\b{name}\b", line.partition("#")[0]):
                return f"{profile}:{number}: {said}; fix the profile"
    return ""
