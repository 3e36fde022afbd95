"""Names of the files in a comparison's folder."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

FORMAT = "stowage.dev/compare/v1"

HEAD = "compare.json"
RECORDS = "records"
CONFIGURATIONS = "configurations"


def record_path(folder: Path, limits: str, round_number: int, arm: str) -> Path:
    """Return the file of one run; a user's arm may have any name."""
    name = f"round-{round_number:03}-{_safe(arm)}.json.gz"
    return folder / RECORDS / _safe(limits) / name


def configuration_path(folder: Path, limits: str, arm: str) -> Path:
    """Return the file of what an arm's scheduler read."""
    return folder / CONFIGURATIONS / f"{_safe(limits)}-{_safe(arm)}.txt"


def _safe(name: str) -> str:
    return quote(name, safe="").replace(".", "%2E")
