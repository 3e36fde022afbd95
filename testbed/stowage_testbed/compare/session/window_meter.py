"""What goes on in processes while a window is open."""

from __future__ import annotations

import gc
from collections.abc import Iterable

from stowage_testbed.recording.footprint import UNKNOWN, Footprint, FootprintMeter
from stowage_testbed.run.steps.window_listener import WindowListener


class WindowMeter(WindowListener):
    """Reads a scheduler's memory and CPU time, and keeps its own process still.

    Parameters
    ----------
    pids
        The scheduler's processes.

    Attributes
    ----------
    footprint
        Of the scheduler, once the window is closed.
    """

    def __init__(self, pids: Iterable[int]) -> None:
        self._pids = tuple(pids)
        self._meter: FootprintMeter | None = None
        self.footprint: Footprint = UNKNOWN

    def open(self) -> None:
        """Forget former peaks, and clear up before it matters."""
        # A full collection stops every thread for a tenth of a second, and all receipts
        # with it: what is there already need not be looked through while it lasts.
        gc.collect()
        gc.freeze()
        self._meter = FootprintMeter(self._pids)

    def close(self) -> None:
        """Read the footprint; nothing happens unless the window is open."""
        if self._meter is None:
            return
        self.footprint, self._meter = self._meter.read(), None
        gc.unfreeze()
