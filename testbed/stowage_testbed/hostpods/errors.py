"""Why a pod has to wait."""

from __future__ import annotations

from stowage_testbed.base.errors import StowageError


class HostPodsError(StowageError):
    """Something without which a pod cannot go on.

    ``reason`` is the word that a waiting container's status shows.
    """

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)
