"""List and watch kinds of objects over plain HTTP: stamped changes of all of them, in one queue.

The client library's own watch turns every event into typed models before anyone can take the time, so the lines are
read here and stamped as they arrive. A reader must be back at its socket at once, or its next stamp is late: it hands
over and reads on, and changes are applied elsewhere, as many at a time as have come.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from http import HTTPStatus
from queue import Empty, SimpleQueue

import msgspec
from kubernetes import client
from urllib3 import HTTPResponse
from urllib3.exceptions import HTTPError, ProtocolError

from stowage_testbed.api.client import JSON, ApiRefusedError
from stowage_testbed.api.kinds import Kind, kinds_of
from stowage_testbed.api.objects import PAGE
from stowage_testbed.base.errors import StowageError
from stowage_testbed.observe.change import Change, Receipt, ReceiptClock, Verb
from stowage_testbed.observe.raw_body import BodyFile, Head, RawBody
from stowage_testbed.observe.source import NODES, PODS, Source, source_of

JOIN_TIMEOUT_S = 5.0
ROLL_BYTES = 256 * 2**20  # How long a file may be before a new one is begun, where one may be
RETRY_S = 0.1  # Pause before a server that is away is asked again; it doubles each time
LONGEST_RETRY_S = 1.0
SILENCE_S = 150.0  # For how long a connection may say nothing; on each watch the server says something once a minute
_NEEDED = frozenset({"Namespace", NODES.kind, PODS.kind})
_FORBIDDEN = frozenset({HTTPStatus.FORBIDDEN, HTTPStatus.UNAUTHORIZED})


@dataclass(frozen=True, slots=True)
class Relisted:
    """A source as a new list shows it; what the list lacks was deleted meanwhile."""

    source: Source
    listed: tuple[Change, ...]
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Broken:
    """A watch that broke off."""

    error: StowageError


@dataclass(frozen=True, slots=True)
class Interrupted:
    """A watch lost its connection, and is tried again."""

    source: Source
    receipt: Receipt
    why: str


@dataclass(frozen=True, slots=True)
class Resumed:
    """A watch that was interrupted goes on."""

    source: Source
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Stopped:
    """Nothing more will come."""


Arrival = Change | Relisted | Broken | Interrupted | Resumed | Stopped


class HistoryGoneError(Exception):
    """The API server no longer keeps the version to resume from: list again."""


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _ListMetadata(msgspec.Struct):
    resourceVersion: str = ""  # noqa: N815
    continue_: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct):
    metadata: _ListMetadata
    items: list[msgspec.Raw] | None = None


class Watches:
    """Lists sources, then follows each in a thread of its own.

    A server may be away for ``patience_s``, which may be changed at any time, before a watch counts as broken, and
    a connection may say nothing for ``silence_s``, or as long as it stands, before it counts as lost.
    """

    def __init__(
        self,
        api: client.ApiClient,
        clock: ReceiptClock | None = None,
        *,
        patience_s: float = 0.0,
        silence_s: float | None = None,
    ) -> None:
        self.clock = clock or ReceiptClock()
        self.file = BodyFile()
        self.patience_s = patience_s
        self.silence_s = silence_s
        self.api = api
        self.arrivals: SimpleQueue[Arrival] = SimpleQueue()
        self.kinds: dict[str, Kind] = {}
        self._watches: dict[str, Watch] = {}

    def __contains__(self, kind: str) -> bool:
        """Return whether a kind is watched."""
        return kind in self._watches

    def list_source(self, source: Source) -> list[Change]:
        """Return what there is of a source; `follow` goes on from here. Raises an ApiRefusedError."""
        watch = Watch(self, source)
        listed = watch.list_all()
        self._watches[source.kind] = watch
        return listed

    def list_kinds(self, wanted: Mapping[str, str], remark: Callable[[str], object]) -> list[Change]:
        """Return what there is of ``wanted`` kinds with their groups, in order of creation, as far as they are served.

        What may not be listed is left out with a remark. Raises a StowageError if that is nodes, pods or namespaces, or
        if the server does not answer.
        """
        served: dict[tuple[str, str], Kind] = {}
        for kind in kinds_of(self.api).all():
            if "watch" in kind.verbs:
                # The version that the server likes best comes first.
                served.setdefault((kind.name, kind.group), kind)
        found: list[Change] = []
        for kind in (served[one] for one in wanted.items() if one in served):
            try:
                listed = self.list_source(source_of(kind))
            except ApiRefusedError as error:
                if error.status not in _FORBIDDEN or kind.key in _NEEDED:
                    raise StowageError(f"{error}; it takes the rights to list and to watch") from error
                remark(f"{kind.key} may not be listed, and is left out")
                continue
            self.kinds[kind.key] = kind
            found += sorted(listed, key=_in_order_of_creation)
        return found

    def follow(self) -> None:
        """Watch what was listed from there on."""
        for watch in self._watches.values():
            if watch.thread.ident is None:
                watch.thread.start()

    def take_all(self, timeout_s: float | None = None) -> list[Arrival]:
        """Return all that has come, in order; blocks until something has, or returns nothing after ``timeout_s``."""
        try:
            taken = [self.arrivals.get(timeout=timeout_s)]
        except Empty:
            return []
        while not self.arrivals.empty():
            taken.append(self.arrivals.get())
        return taken

    def roll(self) -> bool:
        """Begin a new file for what is seen if the one in use is long; what lives long must be moved to it then."""
        if self.file.length < ROLL_BYTES:
            return False
        self.file = BodyFile()
        return True

    def unwatch(self, kind: str) -> None:
        """Watch a kind no longer."""
        if watch := self._watches.pop(kind, None):
            _end([watch])

    def stop(self) -> None:
        """End every watch, and wait for the threads, but not for long."""
        _end(tuple(self._watches.values()))
        self.arrivals.put(Stopped())


def _end(watches: Sequence[Watch]) -> None:
    for watch in watches:
        watch.cancel()
    ends_s = time.monotonic() + JOIN_TIMEOUT_S
    for watch in watches:
        if watch.thread.ident is not None:
            watch.thread.join(max(0.0, ends_s - time.monotonic()))


class Watch:
    """A source: its list, and its changes from there on, handed over by a thread until it is cancelled."""

    def __init__(self, watches: Watches, source: Source) -> None:
        self._watches = watches
        self._source = source
        self._version = ""
        self._response: HTTPResponse | None = None
        self._cancelled = threading.Event()
        self._lost = False
        self.thread = threading.Thread(target=self._follow, name=f"watch-{source.kind}", daemon=True)

    def list_all(self) -> list[Change]:
        """Return all objects there are, and remember where to watch from. Raises ApiRefusedError.

        They are asked for page by page, all of one version, and have one receipt: a list shows one moment.
        """
        bodies: list[RawBody] = []
        limit, token = PAGE, ""
        while True:
            query = [("limit", str(limit))] if limit else []
            response = self._get([*query, *([("continue", token)] if token else [])])
            if response.status == HTTPStatus.GONE and token:
                # The version of the first page is no longer kept: all in one answer.
                bodies, limit, token = [], 0, ""
                continue
            if response.status != HTTPStatus.OK:
                raise ApiRefusedError(f"list {self._source.kind}", response.status, response.data.decode())
            page = msgspec.json.decode(response.data, type=_Page)
            for item in page.items or ():
                head = msgspec.json.decode(item, type=Head)
                bodies.append(self._watches.file.keep(memoryview(item), head.metadata))
            token = page.metadata.continue_
            if not token:
                break
        self._version = page.metadata.resourceVersion
        receipt = self._watches.clock.now()
        return [Change(self._source.kind, Verb.LISTED, receipt, body) for body in bodies]

    def changes(self) -> Iterator[Change]:
        """Yield changes until the server ends the connection or `cancel` is called.

        Raises HistoryGoneError if the list must be done again, and a StowageError if the server answers with another
        error.
        """
        response = self._get([("watch", "true"), ("resourceVersion", self._version), ("allowWatchBookmarks", "true")])
        # By this thread, however it ends: a socket left to the garbage collector may outlive the client.
        with closing(response):
            if response.status == HTTPStatus.GONE:
                raise HistoryGoneError
            if response.status != HTTPStatus.OK:
                raise _make_watch_error(self._source, f"status {response.status}")
            self._response = response
            if self._cancelled.is_set():
                return
            if self._lost:
                self._lost = False
                self._watches.arrivals.put(Resumed(self._source, self._watches.clock.now()))
            try:
                for line, receipt in _stamp_lines(response, self._watches.clock):
                    if self._cancelled.is_set():
                        # A socket that was shut down gives its last bytes as they came, which over TLS is noise.
                        return
                    change = self._read(line, receipt)
                    if change is not None:
                        yield change
            except (ValueError, AttributeError):
                # It was shut down within a read: Python's TLS sockets do not expect that of another thread.
                if not self._cancelled.is_set():
                    raise

    def cancel(self) -> None:
        """End the watch from another thread: its reader sees the end of the stream."""
        self._cancelled.set()
        response, self._response = self._response, None
        # The server may be quicker: then there is no connection left to end.
        with suppress(ValueError, RuntimeError, OSError):
            if response is not None:
                response.shutdown()

    def _follow(self) -> None:
        clock = self._watches.clock
        heard, pause_s = clock.now(), RETRY_S
        while not self._cancelled.is_set():
            began = clock.now()
            try:
                self._follow_once()
            except (StowageError, HTTPError, OSError) as error:
                if began.seconds_since(heard) >= self._watches.patience_s:
                    if not self._cancelled.is_set():
                        if not isinstance(error, StowageError):
                            error = _make_watch_error(self._source, str(error))
                        self._watches.arrivals.put(Broken(error))
                    return
                self._lose(str(error))
                self._cancelled.wait(pause_s)
                pause_s = min(2 * pause_s, LONGEST_RETRY_S)
            else:
                heard, pause_s = clock.now(), RETRY_S

    def _follow_once(self) -> None:
        put = self._watches.arrivals.put
        try:
            for change in self.changes():
                put(change)
        except HistoryGoneError:
            self._lose("the server no longer had what came after the last change")
            listed = tuple(self.list_all())
            # What the list lacks went before it: by a later stamp it would seem to have
            # been there together with what the list shows.
            put(Relisted(self._source, listed, listed[0].receipt if listed else self._watches.clock.now()))
        except ProtocolError as error:
            # The connection was cut in the middle of a line; the next watch resumes
            # from the last whole change, and fails if the server is gone.
            self._lose(str(error))

    def _lose(self, why: str) -> None:
        if not self._lost and not self._cancelled.is_set():
            self._lost = True
            self._watches.arrivals.put(Interrupted(self._source, self._watches.clock.now(), why))

    def _get(self, query: list[tuple[str, str]]) -> HTTPResponse:
        if self._source.fields:
            query = [("fieldSelector", self._source.fields), *query]
        api, header = self._watches.api, {"Accept": JSON}
        request = api.param_serialize(
            "GET", self._source.path, query_params=query, header_params=header, auth_settings=["BearerToken"]
        )
        response = api.call_api(*request, _request_timeout=self._watches.silence_s).response
        assert isinstance(response, HTTPResponse)  # noqa: S101 - narrows an untyped library
        return response

    def _read(self, line: bytes, receipt: Receipt) -> Change | None:
        event = msgspec.json.decode(line, type=_Event)
        head = msgspec.json.decode(event.object, type=Head)
        if event.type == "ERROR":
            if head.code == HTTPStatus.GONE:
                raise HistoryGoneError
            raise _make_watch_error(self._source, head.message or line.decode())
        version = head.metadata.resourceVersion
        if event.type == "BOOKMARK":
            self._version = version
            return None
        body = self._watches.file.keep(memoryview(event.object), head.metadata)
        # Not before it is kept: after an error the next watch has it again.
        self._version = version
        return Change(self._source.kind, Verb(event.type), receipt, body)


def _make_watch_error(source: Source, cause: str) -> StowageError:
    return StowageError(
        f"the watch of {source.kind} broke off: {cause}; see whether the cluster's API server still runs"
    )


def _stamp_lines(response: HTTPResponse, clock: ReceiptClock) -> Iterator[tuple[bytes, Receipt]]:
    """Yield whole lines, each with the receipt of the chunk that completed it."""
    pending = b""
    for chunk in response.stream(amt=None, decode_content=True):
        receipt = clock.now()
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            if line.strip():
                yield line, receipt


def _in_order_of_creation(change: Change) -> tuple[str, str, str]:
    created = str(change.body["metadata"].get("creationTimestamp", ""))
    return created, change.namespace, change.name
