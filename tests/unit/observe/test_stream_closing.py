"""A watch that is closed says nothing more, whatever its connection still gives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from urllib3.exceptions import ProtocolError

from stowage_testbed.base.errors import StowageError
from stowage_testbed.observe.receipt import ReceiptClock
from stowage_testbed.observe.source import PODS
from stowage_testbed.observe.stream import HistoryGoneError, Stream


def line(name: str) -> bytes:
    metadata = {"uid": name, "name": name, "namespace": "ns", "resourceVersion": "1"}
    return json.dumps({"type": "ADDED", "object": {"metadata": metadata}}).encode()


class Connection:
    """Gives one change; then it is closed from elsewhere, or cut, and gives noise."""

    def __init__(
        self, stream: Stream, status: int = 200, cut: Exception | None = None
    ) -> None:
        self._stream = stream
        self._cut = cut
        self.status = status
        self.closed = False

    def shutdown(self) -> None:
        return

    def close(self) -> None:
        self.closed = True

    def stream(self, **_asked: Any) -> Iterator[bytes]:
        yield line("web") + b"\n"
        if self._cut:
            raise self._cut
        self._stream.close()
        yield b"\x17\x03\x03\x00\x85\x98\n"


@pytest.fixture
def stream() -> Stream:
    api: Any = None
    return Stream(api, PODS, ReceiptClock())


def test_what_comes_after_the_end_is_not_read(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found as an error in a thread, at the end of one run in some hundred."""
    monkeypatch.setattr(stream, "_get", lambda _query: Connection(stream))

    assert [change.name for change in stream.watch()] == ["web"]


@pytest.mark.parametrize(
    "how",
    [{}, {"cut": ProtocolError("cut")}, {"status": 410}, {"status": 500}],
    ids=["closed", "cut", "gone", "refused"],
)
def test_however_a_watch_ends_its_connection_is_closed(
    stream: Stream, monkeypatch: pytest.MonkeyPatch, how: dict[str, Any]
) -> None:
    """A recorder outlives many connections; each left open was a socket that stayed."""
    connection = Connection(stream, **how)
    monkeypatch.setattr(stream, "_get", lambda _query: connection)

    with suppress(ProtocolError, HistoryGoneError, StowageError):
        list(stream.watch())

    assert connection.closed
