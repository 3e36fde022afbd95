"""Names of runs."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime


def make_run_id() -> str:
    """Return a name for a run: its time, and what keeps two of one second apart."""
    now = datetime.now(tz=UTC)
    return f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
