"""What one probe found out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Outcome:
    """Success or failure, and what was seen."""

    ok: bool
    message: str = ""
