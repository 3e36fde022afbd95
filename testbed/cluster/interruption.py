"""A cluster that is gone when its block ends, however it ends."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from testbed.cluster.protocol import Cluster

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
_EXIT_BASE = 128


@contextmanager
def running_cluster(cluster: Cluster) -> Iterator[Cluster]:
    """Bring a cluster up for the block, and down after it, also when interrupted."""
    with ending_cleanly():
        cluster.up()
        try:
            yield cluster
        finally:
            with undisturbed():
                cluster.down()


@contextmanager
def ending_cleanly() -> Iterator[None]:
    """Turn a request to end into an exception, so that `finally` blocks run.

    Python does that for an interrupt from the keyboard alone. Elsewhere than in the
    main thread signals cannot be handled; there the block runs as it is.
    """

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(_EXIT_BASE + number)

    with _handling(dict.fromkeys(_SIGNALS, leave)):
        yield


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let a clean-up finish although the user presses Ctrl-C once more."""
    with _handling(dict.fromkeys((signal.SIGINT, *_SIGNALS), signal.SIG_IGN)):
        yield


@contextmanager
def _handling(handlers: dict[signal.Signals, signal._HANDLER]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, to) for number, to in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
