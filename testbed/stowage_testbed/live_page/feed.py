"""One watch of a cluster for all browsers, as a stream of messages."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Protocol

import msgspec
from urllib3.exceptions import HTTPError

from stowage_testbed.api_client import ApiRefusedError
from stowage_testbed.errors import StowageError
from stowage_testbed.live_page.model import LiveModel, Message
from stowage_testbed.observe.change import Change, Verb
from stowage_testbed.observe.source import NODES, PACKING_PLANS, PODS, Source

TICK_S = 0.1
"""Changes of so long go to the browsers as one delta."""

RETRY_S = 2.0
"""Pause before a server that is away is asked anew."""

RIGHTS_S = 30.0
"""How often it is asked whether the viewer may change plans, and whether the cluster
has plans by now."""

KEPT_DELTAS = 600
"""A browser that lags by more gets a snapshot."""

HEARTBEAT_S = 5.0
"""A stream that has nothing to say shows so often that it is there."""

KEEP_OPEN = b":\n\n"
"""A comment, which browsers read over."""

SOURCES = (PODS, NODES)


class Watches(Protocol):
    """What the feed needs of an observer."""

    @property
    def failure(self) -> StowageError | None:
        """Why a watch broke off."""
        ...

    def watch(self, source: Source) -> None:
        """Watch a source from now on."""
        ...

    def take_journal(self) -> list[Change]:
        """Return the changes since the last call."""
        ...

    def free_disk(self) -> None:
        """Let go of what only former changes hold."""
        ...


class Feed:
    """Follows a cluster in a thread, and streams it to any number of browsers.

    Use as a context manager: the first list is there when the block begins.

    Parameters
    ----------
    cluster
        Its name, as the page shows it.
    watching
        Opens watches of nodes and pods; called again when they broke off.
    may_change
        Asks whether the viewer may approve plans and give them up.
    """

    def __init__(
        self,
        cluster: str,
        watching: Callable[[], AbstractContextManager[Watches]],
        may_change: Callable[[], bool],
    ) -> None:
        self._watching = watching
        self._may_change = may_change
        self._model = LiveModel(cluster)
        self._changed = threading.Condition()
        self._deltas: deque[bytes] = deque(maxlen=KEPT_DELTAS)
        self._count = 0
        """Of the deltas and renumberings so far."""
        self._stopping = threading.Event()
        self._begun = threading.Event()
        self._refusal: StowageError | None = None
        self._thread = threading.Thread(
            target=self._follow, name="live-page-feed", daemon=True
        )

    def __enter__(self) -> Feed:
        """Begin, and wait for the first list.

        Raises
        ------
        StowageError
            The cluster does not answer, or nodes or pods may not be watched.
        """
        self._thread.start()
        self._begun.wait()
        if self._refusal:
            raise self._refusal
        return self

    def __exit__(self, *_: object) -> None:
        """End the watches, and every stream."""
        self._stopping.set()
        with self._changed:
            self._changed.notify_all()
        self._thread.join()

    def messages(self) -> Iterator[bytes]:
        """Yield events for one browser until the feed ends: a snapshot, then deltas."""
        with self._changed:
            seen = self._count
            text = self._snapshot()
        while text:
            yield text
            text, seen = self._after(seen)

    def _after(self, seen: int) -> tuple[bytes, int]:
        """Return what a browser lacks, once there is something; nothing at the end."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._stopping.is_set() or self._count > seen, HEARTBEAT_S
            )
            missed = self._count - seen
            if self._stopping.is_set():
                text = b""
            elif missed > len(self._deltas):
                text = self._snapshot()
            else:
                late = list(self._deltas)[len(self._deltas) - missed :]
                text = b"".join(late) or KEEP_OPEN
            return text, self._count

    def _snapshot(self) -> bytes:
        return _event("snapshot", self._model.snapshot())

    def _follow(self) -> None:
        while not self._stopping.is_set():
            try:
                with self._watching() as watches:
                    self._listen(watches)
            except StowageError as error:
                self._fail(error)
            except (HTTPError, OSError) as error:
                # The client raises these where nobody asked for a way out.
                self._fail(unanswered(str(error)))

    def _fail(self, error: StowageError) -> None:
        """Say on the page what is wrong, and wait; before there is one, give up."""
        if self._begun.is_set():
            self._tell(partial(self._model.say, str(error)))
            self._stopping.wait(RETRY_S)
        else:
            self._refusal = error
            self._stopping.set()
            self._begun.set()

    def _listen(self, watches: Watches) -> None:
        """Tell the browsers what the watches see until one breaks off."""
        self._tell(partial(self._begin, watches.take_journal()))
        self._begun.set()
        asked_s = float("-inf")
        has_plans = False
        while not self._stopping.wait(TICK_S):
            if watches.failure:
                raise watches.failure
            if time.monotonic() - asked_s >= RIGHTS_S:
                asked_s = time.monotonic()
                has_plans = has_plans or _watches_plans(watches)
                changeable = has_plans and self._may_change()
                self._tell(partial(self._model.allow, changeable))
            if journal := watches.take_journal():
                self._tell(partial(self._model.take, journal))
                watches.free_disk()

    def _begin(self, journal: list[Change]) -> None:
        listed = [change for change in journal if change.verb is Verb.LISTED]
        self._model.listed(listed)
        self._model.take(change for change in journal if change.verb != Verb.LISTED)
        self._model.say("")

    def _tell(self, change: Callable[[], None]) -> None:
        """Change the model, and wake the streams if there is something new in it."""
        with self._changed:
            change()
            delta = self._model.delta()
            if self._model.renumbered:
                # Deltas from before mean other pods: every browser begins anew.
                self._model.renumbered = False
                self._deltas.clear()
            elif delta:
                self._deltas.append(_event("delta", delta))
            else:
                return
            self._count += 1
            self._changed.notify_all()


def unanswered(cause: str) -> StowageError:
    """Return what to raise when the API server gives no answer."""
    return StowageError(
        f"the cluster does not answer: {cause}; see whether it is up, and whether the "
        "kubeconfig names the right one"
    )


def _watches_plans(watches: Watches) -> bool:
    """Begin to watch plans where there are any; a cluster may get the chart later."""
    try:
        watches.watch(PACKING_PLANS)
    except ApiRefusedError:
        return False
    return True


def _event(name: str, message: Message) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(message))
