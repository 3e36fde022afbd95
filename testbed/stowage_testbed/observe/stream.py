"""List and watch one source over plain HTTP, as stamped changes.

The client library's own watch turns every event into typed models before anyone can
take the time, so the lines are read here and stamped as they arrive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, suppress

import msgspec
from kubernetes import client
from urllib3 import HTTPResponse

from stowage_testbed.api.client import JSON, ApiRefusedError
from stowage_testbed.api.objects import PAGE
from stowage_testbed.base.errors import StowageError
from stowage_testbed.observe.change import Change, Verb
from stowage_testbed.observe.raw_body import BodyStore, Event, Head, Page, RawBody
from stowage_testbed.observe.receipt import Receipt, ReceiptClock
from stowage_testbed.observe.source import Source

HTTP_OK = 200
HTTP_GONE = 410


class HistoryGoneError(Exception):
    """The API server no longer keeps the version to resume from: list again."""


def make_watch_error(source: Source, cause: str) -> StowageError:
    """Return what to raise when a watch ends for a reason that no new list can fix."""
    return StowageError(
        f"the watch of {source.kind} broke off: {cause}; see whether the cluster's API server still runs"
    )


class Stream:
    """One list, and watches that go on from it.

    Parameters
    ----------
    api
        Client of the cluster.
    source
        What to watch.
    clock
        Stamps each change.
    store
        Keeps the objects; without one, a store of its own.
    silence_s
        How long a connection may say nothing before it counts as lost; the server says
        something once a minute. Without it, as long as the connection stands.
    """

    def __init__(
        self,
        api: client.ApiClient,
        source: Source,
        clock: ReceiptClock,
        store: BodyStore | None = None,
        silence_s: float | None = None,
    ) -> None:
        self._api = api
        self._silence_s = silence_s
        self._source = source
        self._clock = clock
        self._store = store or BodyStore()
        self._version = ""
        self._response: HTTPResponse | None = None
        self._closed = False

    def list_all(self) -> list[Change]:
        """Return all objects there are, and remember where to watch from.

        They are asked for page by page, all of one version, and have one receipt: a
        list shows one moment.

        Raises
        ------
        ApiRefusedError
            The server refused.
        """
        bodies: list[RawBody] = []
        limit, token = PAGE, ""
        while True:
            query = [("limit", str(limit))] if limit else []
            response = self._get([*query, *([("continue", token)] if token else [])])
            if response.status == HTTP_GONE and token:
                # The version of the first page is no longer kept: all in one answer.
                bodies, limit, token = [], 0, ""
                continue
            if response.status != HTTP_OK:
                text = response.data.decode()
                raise ApiRefusedError(f"list {self._source.kind}", response.status, text)
            page = msgspec.json.decode(response.data, type=Page)
            bodies += map(self._keep, page.items or ())
            token = page.metadata.continue_
            if not token:
                break
        self._version = page.metadata.resourceVersion
        receipt = self._clock.now()
        return [Change(self._source.kind, Verb.LISTED, receipt, body) for body in bodies]

    def watch(self, opened: Callable[[], object] = bool) -> Iterator[Change]:
        """Yield changes until the server ends the connection or `close` is called.

        ``opened`` is called when the server has accepted the watch.

        Raises
        ------
        HistoryGoneError
            The list must be done again.
        StowageError
            The server answered with another error.
        """
        response = self._get([("watch", "true"), ("resourceVersion", self._version), ("allowWatchBookmarks", "true")])
        # By this thread, however it ends: a socket left to the garbage collector may
        # outlive the client.
        with closing(response):
            if response.status == HTTP_GONE:
                raise HistoryGoneError
            if response.status != HTTP_OK:
                raise make_watch_error(self._source, f"status {response.status}")
            self._response = response
            if self._closed:
                return
            opened()
            for line, receipt in _stamp_lines(response, self._clock):
                if self._closed:
                    # A socket that was shut down gives its last bytes as they came,
                    # which over TLS is noise.
                    return
                change = self._change(line, receipt)
                if change is not None:
                    yield change

    def close(self) -> None:
        """End the watch from another thread: its reader sees the end of the stream."""
        self._closed = True
        response, self._response = self._response, None
        # The server may be quicker: then there is no connection left to end.
        with suppress(ValueError, RuntimeError, OSError):
            if response is not None:
                response.shutdown()

    def _get(self, query: list[tuple[str, str]]) -> HTTPResponse:
        request = self._api.param_serialize(
            "GET", self._source.path, query_params=query, header_params={"Accept": JSON}, auth_settings=["BearerToken"]
        )
        answer = self._api.call_api(*request, _request_timeout=self._silence_s)
        response = answer.response
        assert isinstance(response, HTTPResponse)  # noqa: S101 - narrows an untyped library
        return response

    def _change(self, line: bytes, receipt: Receipt) -> Change | None:
        event = msgspec.json.decode(line, type=Event)
        head = msgspec.json.decode(event.object, type=Head)
        if event.type == "ERROR":
            if head.code == HTTP_GONE:
                raise HistoryGoneError
            raise make_watch_error(self._source, head.message or line.decode())
        version = head.metadata.resourceVersion
        if event.type == "BOOKMARK":
            self._version = version
            return None
        body = self._store.keep(memoryview(event.object), head.metadata)
        # Not before it is kept: after an error the next watch has it again.
        self._version = version
        return Change(self._source.kind, Verb(event.type), receipt, body)

    def _keep(self, item: msgspec.Raw) -> RawBody:
        head = msgspec.json.decode(item, type=Head)
        return self._store.keep(memoryview(item), head.metadata)


def _stamp_lines(response: HTTPResponse, clock: ReceiptClock) -> Iterator[tuple[bytes, Receipt]]:
    """Yield whole lines, each with the receipt of the chunk that completed it."""
    pending = b""
    for chunk in response.stream(amt=None, decode_content=True):
        receipt = clock.now()
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            if line.strip():
                yield line, receipt
