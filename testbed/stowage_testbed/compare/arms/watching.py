"""Ending what is done with an arm as soon as the arm itself has ended."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from stowage_testbed.compare.errors import ArmEndedError
from stowage_testbed.ending import Ending, ended_early
from stowage_testbed.run.arm import RunningArm


@contextmanager
def ended_with(running: RunningArm) -> Iterator[None]:
    """End the block within a moment once a process of the arm has ended.

    Waiting for pods that no scheduler places any more would take a long time. The
    watch sleeps until then: it wakes up at no interval, which could be measured.

    Raises
    ------
    ArmEndedError
        One has; in place of whatever else the block raised.
    """
    running.check()
    with ended_early() as ending:
        # By a descriptor and not by its number, which another process may have later.
        ends = [os.pidfd_open(pid) for pid in running.pids]
        stopped, stop = os.pipe()
        watch = threading.Thread(
            target=_watch, args=(running, ending, ends, stopped), name="watch-arm"
        )
        watch.start()
        try:
            yield
        finally:
            os.close(stop)
            watch.join()


def _watch(
    running: RunningArm, ending: Ending, ends: Sequence[int], stopped: int
) -> None:
    """Wait for the first end; ``stopped`` is closed when it is of no more interest."""
    poll = select.poll()
    for descriptor in (*ends, stopped):
        poll.register(descriptor, select.POLLIN)
    found = {descriptor for descriptor, _ in poll.poll()}
    for descriptor in (*ends, stopped):
        os.close(descriptor)
    if stopped in found:
        return
    try:
        running.check()
    except ArmEndedError as error:
        ending.now(error)
