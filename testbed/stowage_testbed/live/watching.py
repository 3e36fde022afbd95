"""The one watch behind the page, and the messages that it makes for browsers."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from stowage_testbed.api.kinds import kinds_of
from stowage_testbed.base.errors import StowageError
from stowage_testbed.live.state import PLAN, SHOWN, LiveState
from stowage_testbed.observe.change import Change
from stowage_testbed.observe.watches import SILENCE_S, Watches

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

TICK_S = 0.2  # Changes are handed on together, so many seconds apart
LOOK_S = 30.0  # Between two looks whether the cluster serves plans now
MOST_MESSAGES = 600  # Messages that a slow browser may be behind; then it begins anew


class Messages:
    """The last messages, for whoever has not had them yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: deque[tuple[int, bytes]] = deque(maxlen=MOST_MESSAGES)
        self._listeners: set[Callable[[], object]] = set()
        self._last = 0

    def put(self, sequence: int, message: bytes) -> None:
        """Take a message, and tell those who listen that there is one."""
        with self._lock:
            self._kept.append((sequence, message))
            self._last = sequence
        self.wake()

    def wake(self) -> None:
        """Have every listener look."""
        with self._lock:
            listeners = tuple(self._listeners)
        for tell in listeners:
            tell()

    def after(self, sequence: int) -> list[tuple[int, bytes]] | None:
        """Return the messages after one; None if some of them are no longer kept."""
        with self._lock:
            if sequence >= self._last:
                return []
            missed = self._kept[0][0] > sequence + 1
            return None if missed else [one for one in self._kept if one[0] > sequence]

    @contextmanager
    def telling(self, tell: Callable[[], object]) -> Iterator[None]:
        """Call ``tell``, from another thread, after each message that comes in the block."""
        with self._lock:
            self._listeners.add(tell)
        try:
            yield
        finally:
            with self._lock:
                self._listeners.discard(tell)


class LiveWatch:
    """What a cluster has, from when it is begun until it is stopped; ``remark`` is told what may not be seen."""

    def __init__(self, api: ApiClient, remark: Callable[[str], object] = lambda _: None) -> None:
        self.messages = Messages()
        self.state = LiveState()
        self._api = api
        self._remark = remark
        self._watches = Watches(api, patience_s=float("inf"), silence_s=SILENCE_S)
        self._lock = threading.RLock()
        self._stopping = threading.Event()
        self._start = self._looked = self._watches.clock.now()
        self._thread = threading.Thread(target=self._run, name="live-watch", daemon=True)

    def begin(self) -> None:
        """List what there is, and watch it; a StowageError if nodes or pods may not be listed, or no answer comes."""
        listed = self._watch(SHOWN)
        self._start = self._looked = self._watches.clock.now()
        self.state.begin(listed)
        self._watches.roll()
        self._thread.start()

    def stop(self) -> None:
        """End the watches."""
        self._stopping.set()
        self._watches.stop()
        if self._thread.is_alive():
            self._thread.join()
        self.messages.wake()

    def now(self) -> dict[str, Any]:
        """Return everything as it is now."""
        with self._lock:
            # Milliseconds since 1970, and since then.
            return {"began": self._start.wall_ns // 1_000_000, "clock": self._at_ms(), **self.state.now()}

    def past(self, until: tuple[int, int] | None = None) -> dict[str, Any]:
        """Return what was seen before, up to what `LiveState.now` counted."""
        with self._lock:
            return self.state.past(until)

    def both(self) -> dict[str, Any]:
        """Return what is and what was, of one moment."""
        with self._lock:
            return {"now": self.now(), "past": self.state.past()}

    def _at_ms(self) -> int:
        return int(self._watches.clock.now().seconds_since(self._start) * 1000)

    def _watch(self, wanted: dict[str, str]) -> list[Change]:
        listed = self._watches.list_kinds(wanted, self._remark)
        self._watches.follow()
        return listed

    def _run(self) -> None:
        while not self._stopping.wait(TICK_S):
            arrivals = self._watches.take_all(0)
            late = self._look_for_plans()
            with self._lock:
                for arrival in (*late, *arrivals):
                    self.state.take(arrival)
                message = self.state.flush(self._at_ms())
            # What was seen is in numbers already.
            self._watches.roll()
            if message is not None:
                self.messages.put(message["seq"], msgspec.json.encode(message, enc_hook=dict))

    def _look_for_plans(self) -> list[Change]:
        """Return the plans of a cluster that did not serve any when it was listed."""
        now = self._watches.clock.now()
        soon = now.seconds_since(self._looked) < LOOK_S
        if PLAN in self._watches or soon or self.state.name_lost():
            return []
        self._looked = now
        try:
            kinds_of(self._api).look_again()
            return self._watch({PLAN: SHOWN[PLAN]})
        except StowageError:
            # The server is away, and the watches say so.
            return []
