"""A container that ends again and again: no release comes up by more waiting."""

from __future__ import annotations

from dataclasses import dataclass, field

from stowage_testbed.helm.release import Release

RESTARTS = 3
"""Ends by themselves after which a container counts as broken."""


@dataclass(slots=True)
class CrashLoop:
    """Returns whether a container of a release has ended too often.

    Attributes
    ----------
    container
        The first one that has; empty as long as none has.
    """

    release: Release
    container: str = field(default="", init=False)

    def found(self) -> bool:
        """Look at the newest pod."""
        for pod in self.release.pods()[:1]:
            for status in pod.status.container_statuses or ():
                if not status.ready and status.restart_count >= RESTARTS:
                    self.container = status.name
        return bool(self.container)
