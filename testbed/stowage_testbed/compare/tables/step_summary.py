"""The summary of a GitHub Actions step."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

VARIABLE = "GITHUB_STEP_SUMMARY"

MOST_BYTES = 1_000_000
"""GitHub takes one mebibyte a step, and drops the whole summary beyond it."""

CUT = "\n\nCut here: the summary of a step holds no more. The whole is in report.md.\n"


def append_step_summary(text: str, environment: Mapping[str, str]) -> bool:
    """Append Markdown to the step summary if there is one; return whether there is."""
    name = environment.get(VARIABLE)
    if not name:
        return False
    path = Path(name)
    there = path.stat().st_size if path.exists() else 0
    room = MOST_BYTES - there - len(CUT)
    content = text.encode()
    if len(content) > room:
        content = content[: max(room, 0)].rpartition(b"\n")[0] + CUT.encode()
    with path.open("ab") as file:
        file.write(content)
    return True
