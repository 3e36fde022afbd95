"""The processes of a cluster's components, held so that their end is seen at once.

By a descriptor and not by its number, which another process may have a moment later.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterable
from pathlib import Path

from stowage_testbed.cluster.components import (
    CONTROL_PLANE,
    HOST_PODS,
    METRICS_SERVER,
    SCHEDULER,
    component_process,
    was_started,
)
from stowage_testbed.cluster.processes import belongs_to

WATCHED = (*CONTROL_PLANE, SCHEDULER, METRICS_SERVER, HOST_PODS)
"""In the order of their dependence: of several that ended the first is the cause."""


class WatchedProcesses:
    """Those components of the cluster in ``workdir`` that were started."""

    def __init__(self, workdir: Path) -> None:
        self._workdir = workdir
        self._expected: frozenset[str] = frozenset()
        self._descriptors: dict[str, int | None] = {}
        self.open()

    def open(self) -> None:
        """Hold every component as it runs now, whatever was expected before."""
        self.close()
        self._descriptors = {
            component: self._descriptor(component) for component in WATCHED if was_started(self._workdir, component)
        }
        self._expected = frozenset()

    def close(self) -> None:
        """Let go of them."""
        for descriptor in self._descriptors.values():
            if descriptor is not None:
                os.close(descriptor)
        self._descriptors = {}

    def expect(self, components: Iterable[str]) -> None:
        """Take the end of these for none until they are held anew."""
        self._expected |= set(components)

    def expects(self, component: str) -> bool:
        """Return whether its end would be none."""
        return component in self._expected

    def descriptors(self) -> list[int]:
        """Return what becomes readable when a process ends."""
        return [
            descriptor
            for component, descriptor in self._descriptors.items()
            if descriptor is not None and component not in self._expected
        ]

    def ended(self) -> tuple[str, str] | None:
        """Return the first that ended and how, if that is known; None if all run."""
        for component, descriptor in self._descriptors.items():
            if component in self._expected:
                continue
            if descriptor is None:
                return component, ""
            if _is_readable(descriptor):
                return component, _how(descriptor)
        return None

    def _descriptor(self, component: str) -> int | None:
        process = component_process(self._workdir, component)
        if process is None:
            return None
        try:
            descriptor = os.pidfd_open(process.pid)
        except ProcessLookupError:
            return None
        # Only what is held cannot change any more.
        if process.is_running() and belongs_to(process, self._workdir):
            return descriptor
        os.close(descriptor)
        return None


def how_it_ended(code: int) -> str:
    """Return an exit code in words, 128 + n for signal n."""
    number = code - _SIGNAL_BASE
    if number in set(signal.Signals):
        return f"killed by {signal.Signals(number).name}"
    return f"exit code {code}"


_SIGNAL_BASE = 128


def _is_readable(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def _how(descriptor: int) -> str:
    """Return how a child of this process ended; of others only their parent knows."""
    try:
        result = os.waitid(os.P_PIDFD, descriptor, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return ""
    if result is None:
        return ""
    if result.si_code == os.CLD_EXITED:
        return how_it_ended(result.si_status)
    return how_it_ended(_SIGNAL_BASE + result.si_status)
