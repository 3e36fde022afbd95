"""The watches of one process: one state, one journal, one clock, one condition."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Self, TypeVar

from kubernetes import client

from stowage_testbed.base import health
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import WaitTimeoutError, stretch
from stowage_testbed.observe.change import NS_PER_S, Change, Receipt, ReceiptClock, Verb
from stowage_testbed.observe.condition import Condition, UnreachableStateError
from stowage_testbed.observe.source import CORE_SOURCES, Source
from stowage_testbed.observe.state import State
from stowage_testbed.observe.watches import JOIN_TIMEOUT_S, Arrival, Broken, Relisted, Stopped, Watches

T = TypeVar("T")

PAUSES_PER_LOOK = 19  # The pause after a look is so many times what it took: 5 % of one core


GATHER_S = 0.02
"""Changes that come amid others are applied so many seconds apart, many at a time: to wake two threads for each took as
long as all the rest. Stamps are older than that, and a change after a pause is applied at once."""


class Observer:
    """Watches sources, each in a thread, into one state, until its context ends."""

    def __init__(
        self,
        api: client.ApiClient,
        sources: Iterable[Source] = CORE_SOURCES,
        clock: ReceiptClock | None = None,
        cpu_ns: Callable[[], int] = time.thread_time_ns,
    ) -> None:
        self._cpu_ns = cpu_ns
        self._sources = tuple(sources)
        self._watches = Watches(api, clock)
        self.clock = self._watches.clock
        self._changed = threading.Condition()
        self._state = State()
        self._journal: list[Change] = []
        self._applied = 0
        self._failure: StowageError | None = None
        self._failed = threading.Event()
        self._stopped = threading.Event()
        self._applier = threading.Thread(target=self._apply_all, name="apply-changes", daemon=True)

    def __enter__(self) -> Self:
        self._applier.start()
        try:
            for source in self._sources:
                self.watch(source)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def watch(self, source: Source) -> None:
        """Watch a source from now on; its list is in the state on return."""
        if source.kind in self._watches:
            return
        listed = self._watches.list_source(source)
        with self._changed:
            self._take(listed)
            self._applied += 1
            self._changed.notify_all()
        self._watches.follow()

    @contextmanager
    def patient(self, patience_s: float) -> Iterator[None]:
        """Let the server be away for so long in the block."""
        former, self._watches.patience_s = self._watches.patience_s, patience_s
        try:
            yield
        finally:
            self._watches.patience_s = former

    def unwatch(self, kind: str) -> None:
        """Watch a kind no longer: its definition goes, and the watch would break."""
        self._watches.unwatch(kind)
        with self._changed:
            self._state.drop_kind(kind)

    def stop(self) -> None:
        """End every watch and wait for its thread."""
        self._watches.stop()
        self._applier.join(JOIN_TIMEOUT_S)

    def read(self, look: Callable[[State], T]) -> T:
        """Return what ``look`` reads from the state, while nothing changes it."""
        with self._changed:
            return look(self._state)

    def take_journal(self) -> list[Change]:
        """Return the changes since the last call, in order of receipt, and forget."""
        with self._changed:
            journal, self._journal = self._journal, []
        return sorted(journal, key=lambda change: change.receipt)

    def restart_journal(self) -> list[Change]:
        """Forget the changes so far, which may leave the disk then, and return what is there as a list shows it."""
        with self._changed:
            self._journal = []
            if self._watches.roll():
                self._state.move_to(self._watches.file)
            return self._state.list_all(self.clock.now())

    def wait_for(
        self,
        what: str,
        condition: Condition,
        *,
        timeout_s: float,
        quiet_s: float = 0.0,
        quiet_kinds: tuple[str, ...] = (),
        quiet_after: Receipt | None = None,
    ) -> None:
        """Block until the condition holds; raise a WaitTimeoutError with the last state, or UnreachableStateError.

        The condition is looked at after every change, but for a pause that grows with what a look costs: beside
        a burst of thousands of pods it would else take a core from the very thing that is measured. With
        ``quiet_s`` the state must also be stable: none of the ``quiet_kinds`` changed for so many seconds,
        which count from ``quiet_after`` at the earliest, as what was done then may not have shown itself yet.
        """
        timeout_s = stretch(timeout_s)
        deadline_ns = self.clock.now().monotonic_ns + int(timeout_s * NS_PER_S)
        with self._changed:
            while True:
                if self._failure is not None:
                    raise self._failure
                began_ns = self._cpu_ns()
                result = condition(self._state)
                # Not the time that others had the core: a busy machine would wait long.
                pause_ns = PAUSES_PER_LOOK * (self._cpu_ns() - began_ns)
                if result.error:
                    raise UnreachableStateError(f"waiting for {what} is in vain: {result.error}")
                now_ns = self.clock.now().monotonic_ns
                quiet_ns = self._quiet_from(quiet_kinds, quiet_s, quiet_after)
                if result.holds and now_ns >= quiet_ns:
                    return
                if now_ns >= deadline_ns:
                    raise WaitTimeoutError(what, timeout_s, result.state)
                until_ns = min(deadline_ns, quiet_ns) if result.holds else deadline_ns
                self._await_change(until_ns)
                self._pause(min(now_ns + pause_ns, deadline_ns))

    def _await_change(self, until_ns: int) -> None:
        """Wait for a change, and look now and then whether the run is well."""
        seen = self._applied
        while self._applied == seen and (left_s := self._seconds_to(until_ns)) > 0:
            if not self._changed.wait(min(left_s, health.LOOK_EVERY_S)):
                with self._unlocked():
                    health.check()

    def _pause(self, until_ns: int) -> None:
        """Let changes come in without being woken by them; a failure ends the pause."""
        with self._unlocked():
            while (left_s := self._seconds_to(until_ns)) > 0:
                if self._failed.wait(min(left_s, health.LOOK_EVERY_S)):
                    return
                health.check()

    def _seconds_to(self, until_ns: int) -> float:
        return (until_ns - self.clock.now().monotonic_ns) / NS_PER_S

    @contextmanager
    def _unlocked(self) -> Iterator[None]:
        self._changed.release()
        try:
            yield
        finally:
            self._changed.acquire()

    def _quiet_from(self, kinds: tuple[str, ...], quiet_s: float, after: Receipt | None) -> int:
        receipts = [after, *(self._state.last_change(kind) for kind in kinds)]
        latest = max((r.monotonic_ns for r in receipts if r is not None), default=0)
        return latest + int(quiet_s * NS_PER_S)

    def _take(self, changes: Iterable[Change]) -> None:
        for change in changes:
            self._state.apply(change)
            self._journal.append(change)

    def _apply_all(self) -> None:
        while not self._stopped.wait(GATHER_S):
            arrivals = self._watches.take_all()
            with self._changed:
                for arrival in arrivals:
                    self._apply(arrival)
                self._applied += 1
                self._changed.notify_all()

    def _apply(self, arrival: Arrival) -> None:
        match arrival:
            case Change():
                self._take([arrival])
            case Relisted(source, listed, receipt):
                gone = self._state.find_vanished(source.kind, listed)
                self._take(Change(source.kind, Verb.DELETED, receipt, body) for body in gone)
                self._take(listed)
            case Broken(error):
                self._failure = error
                self._failed.set()
                health.report(error)
            case Stopped():
                self._stopped.set()
