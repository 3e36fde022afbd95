"""What ends a run that works with a cluster."""

from __future__ import annotations

from collections.abc import Sequence

from stowage_testbed.errors import RUN_ENDED, StowageError


class RunEndedError(StowageError):
    """What a run needs is gone, so that it cannot go on: no verdict on what was run."""

    exit_code = RUN_ENDED


def quoted_log(tail: Sequence[str]) -> str:
    """Return a log's last lines as an error message shows them."""
    return "\n  ".join(tail) or "(it wrote nothing)"
