"""A cluster that is gone when its block ends, however it ends."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stowage_testbed.cluster.base import Cluster

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_EXIT_BASE = 128
_STDERR = 2
_AGAIN_S = 0.02
"""Longer than a finaliser takes, shorter than anybody waits."""


@contextmanager
def running_cluster(cluster: Cluster) -> Iterator[Cluster]:
    """Bring a cluster up for the block, and down after it, also when interrupted."""
    with ending_cleanly():
        # A start that fails or is interrupted cleans up after itself. What it refuses
        # to start, as it is somebody else's, must not be brought down.
        cluster.up()
        try:
            yield cluster
        finally:
            take_down(cluster)


def take_down(cluster: Cluster) -> None:
    """Bring a cluster down, also if the one interrupt that raises comes just now."""
    try:
        cluster.down()
    except BaseException:
        with uninterrupted():
            cluster.down()
        raise


@contextmanager
def ending_cleanly() -> Iterator[None]:
    """Turn the first request to end into an exception, so that `finally` blocks run.

    Ctrl-C raises `KeyboardInterrupt`, the others `SystemExit`. Later requests are only acknowledged: they would cut the
    clean-up short that the first one began. Elsewhere than in the main thread signals cannot be handled; there the
    block runs as it is.

    Notes
    -----
    A signal may come while the interpreter runs a finaliser, where it drops whatever is
    raised. It is raised again then, a moment later.
    """
    if not _in_main_thread():
        yield
        return
    ending: BaseException | None = None

    def leave(number: int, _frame: FrameType | None) -> None:
        nonlocal ending
        if ending is not None:
            # No print: its lock may be held by the very code that was interrupted.
            os.write(_STDERR, b"stowage: cleaning up, one moment\n")
            return
        interrupted = number == signal.SIGINT
        ending = KeyboardInterrupt() if interrupted else SystemExit(_EXIT_BASE + number)
        raise ending

    def leave_again(_number: int, _frame: FrameType | None) -> None:
        if ending is not None:
            raise ending

    def dropped(what: sys.UnraisableHookArgs) -> None:
        if ending is not None and what.exc_value is ending:
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)
        else:
            hook(what)

    hook = sys.unraisablehook
    handlers: dict[signal.Signals, signal._HANDLER] = {**dict.fromkeys(_SIGNALS, leave), signal.SIGALRM: leave_again}
    with handling(handlers):
        sys.unraisablehook = dropped
        try:
            yield
        finally:
            sys.unraisablehook = hook
            signal.setitimer(signal.ITIMER_REAL, 0)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let a clean-up finish although the user presses Ctrl-C again."""
    with handling(dict.fromkeys(_SIGNALS, signal.SIG_IGN)):
        yield


@contextmanager
def handling(handlers: Mapping[signal.Signals, signal._HANDLER]) -> Iterator[None]:
    """Handle signals so in the block; elsewhere than in the main thread, not at all."""
    if not _in_main_thread():
        yield
        return
    before = {number: signal.signal(number, to) for number, to in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
