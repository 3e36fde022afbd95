"""List and watch one source over plain HTTP, as stamped changes.

The client library's own watch turns every event into typed models before anyone can
take the time, so the lines are read here and stamped as they arrive.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from kubernetes import client
from urllib3 import HTTPResponse

from testbed.observe.change import Change, Verb, without_bookkeeping
from testbed.observe.errors import ListFailedError, WatchFailedError
from testbed.observe.raw_body import Event, RawBody
from testbed.observe.receipt import Receipt, ReceiptClock
from testbed.observe.source import Source

HTTP_OK = 200
HTTP_GONE = 410


class HistoryGoneError(Exception):
    """The API server no longer keeps the version to resume from: list again."""


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
    """

    def __init__(
        self, api: client.ApiClient, source: Source, clock: ReceiptClock
    ) -> None:
        self._api = api
        self._source = source
        self._clock = clock
        self._version = ""
        self._response: HTTPResponse | None = None
        self._closed = False

    def listed(self) -> list[Change]:
        """Return all objects there are, and remember where to watch from."""
        response = self._get([])
        text = response.data.decode()
        receipt = self._clock.now()
        if response.status != HTTP_OK:
            raise ListFailedError(self._source.kind, response.status, text)
        answer = json.loads(text)
        self._version = answer["metadata"]["resourceVersion"]
        return [
            Change(self._source.kind, Verb.LISTED, receipt, without_bookkeeping(body))
            for body in answer.get("items") or []
        ]

    def watched(self) -> Iterator[Change]:
        """Yield changes until the server ends the connection or `close` is called.

        Raises
        ------
        HistoryGoneError
            The list must be done again.
        WatchFailedError
            The server answered with another error.
        """
        response = self._get(
            [
                ("watch", "true"),
                ("resourceVersion", self._version),
                ("allowWatchBookmarks", "true"),
            ]
        )
        if response.status == HTTP_GONE:
            raise HistoryGoneError
        if response.status != HTTP_OK:
            raise WatchFailedError(self._source.kind, f"status {response.status}")
        self._response = response
        if self._closed:
            return
        for line, receipt in _stamped_lines(response, self._clock):
            if self._closed:
                # A socket that was shut down gives its last bytes as they came, which
                # over TLS is noise.
                return
            change = self._change(line, receipt)
            if change is not None:
                yield change

    def close(self) -> None:
        """End the watch from another thread: its reader sees the end of the stream."""
        self._closed = True
        response, self._response = self._response, None
        if response is None:
            return
        try:
            response.shutdown()
        except (ValueError, RuntimeError, OSError):
            # The server was quicker: there is no connection left to end.
            return

    def _get(self, query: list[tuple[str, str]]) -> HTTPResponse:
        request = self._api.param_serialize(
            "GET",
            self._source.path,
            query_params=query,
            header_params={"Accept": "application/json"},
            auth_settings=["BearerToken"],
        )
        answer = self._api.call_api(*request)
        response = answer.response
        assert isinstance(response, HTTPResponse)  # noqa: S101 - narrows an untyped library
        return response

    def _change(self, line: bytes, receipt: Receipt) -> Change | None:
        event = Event.of(line)
        verb, head = event.type, event.object
        if verb == "ERROR":
            if head.code == HTTP_GONE:
                raise HistoryGoneError
            raise WatchFailedError(self._source.kind, head.message or line.decode())
        metadata = event.metadata
        self._version = metadata["resourceVersion"]
        if verb == "BOOKMARK":
            return None
        return Change(self._source.kind, Verb(verb), receipt, RawBody(line, metadata))


def _stamped_lines(
    response: HTTPResponse, clock: ReceiptClock
) -> Iterator[tuple[bytes, Receipt]]:
    """Yield whole lines, each with the receipt of the chunk that completed it."""
    pending = b""
    for chunk in response.stream(amt=None, decode_content=True):
        receipt = clock.now()
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            if line.strip():
                yield line, receipt
