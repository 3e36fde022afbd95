"""The memory of the service and its children while a call goes on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

INTERVAL_S = 0.05


class Peak:
    """The largest sum of proportional set sizes seen, in bytes.

    Pages that forked processes share count once in the sum.
    """

    def __init__(self) -> None:
        self.peak_bytes = 0

    def sample(self, pid: int) -> None:
        """Look at the process ``pid`` and everything below it."""
        try:
            top = psutil.Process(pid)
            processes = [top, *top.children(recursive=True)]
        except psutil.Error:
            return
        total = 0
        for process in processes:
            try:
                total += process.memory_full_info().pss
            except psutil.Error:
                # It ended meanwhile; the next look is complete again.
                continue
        self.peak_bytes = max(self.peak_bytes, total)


@contextmanager
def watched_memory(pid: int) -> Iterator[Peak]:
    """Watch the memory of ``pid`` and its children from a thread of its own."""
    peak, done = Peak(), threading.Event()

    def watch() -> None:
        while not done.wait(INTERVAL_S):
            peak.sample(pid)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()
