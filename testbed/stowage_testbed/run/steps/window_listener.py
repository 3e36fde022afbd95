"""For what measures more than watches see, and must know when the window is open."""

from __future__ import annotations


class WindowListener:
    """Called when the measured window opens and closes, in the run's own thread.

    Does nothing by itself: what reads memory or CPU time overrides it.
    """

    def open(self) -> None:
        """Begin; the window starts when this returns."""

    def close(self) -> None:
        """End; the window has just stopped."""
