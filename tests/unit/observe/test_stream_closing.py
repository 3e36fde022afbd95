"""A watch that is closed says nothing more, whatever its connection still gives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from stowage_testbed.observe.receipt import ReceiptClock
from stowage_testbed.observe.source import PODS
from stowage_testbed.observe.stream import Stream


def line(name: str) -> bytes:
    metadata = {"uid": name, "name": name, "namespace": "ns", "resourceVersion": "1"}
    return json.dumps({"type": "ADDED", "object": {"metadata": metadata}}).encode()


class Connection:
    """Gives one change; then it is closed from elsewhere, and gives noise."""

    status = 200

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def shutdown(self) -> None:
        return

    def stream(self, **_asked: Any) -> Iterator[bytes]:
        yield line("web") + b"\n"
        self._stream.close()
        yield b"\x17\x03\x03\x00\x85\x98\n"


def test_what_comes_after_the_end_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Found as an error in a thread, at the end of one run in some hundred."""
    api: Any = None
    stream = Stream(api, PODS, ReceiptClock())
    monkeypatch.setattr(stream, "_get", lambda _query: Connection(stream))

    assert [change.name for change in stream.watch()] == ["web"]
