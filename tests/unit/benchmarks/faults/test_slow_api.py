"""The slow way to the API server: every call waits, and nothing else is changed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest

from benchmarks.faults.slow_api import Proxy

HOST = "127.0.0.1"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
GET = b"GET /api HTTP/1.1\r\nHost: x\r\n\r\n"
SIZED = b"POST /api HTTP/1.1\r\nContent-Length: 5\r\n\r\nabcde"
LARGE = b"POST /api HTTP/1.1\r\nContent-Length: 500000\r\n\r\n" + b"x" * 500_000


@dataclass
class Server:
    """Notes what it is sent, and answers each request when it is there as a whole."""

    requests: Sequence[bytes]
    heard: bytearray = field(default_factory=bytearray)
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        for request in self.requests:
            self.heard += await reader.readexactly(len(request))
            writer.write(ANSWER)
        self.heard += await reader.read()
        writer.close()
        await writer.wait_closed()
        self.gone.set()


async def passed_on(*requests: bytes) -> tuple[bytes, list[float]]:
    """Send requests one after the other, and return what came and how each waited."""
    server, waits = Server(requests), list[float]()

    async def pause(seconds: float) -> None:
        waits.append(seconds)

    behind = await asyncio.start_server(server.serve, HOST, 0)
    port = behind.sockets[0].getsockname()[1]
    proxy = Proxy(urlsplit(f"http://{HOST}:{port}"), None, lambda: 1.5, pause)
    before = await proxy.serve(HOST, 0, None)
    async with behind, before:
        own = before.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection(HOST, own)
        for request in requests:
            writer.write(request)
            assert await reader.readexactly(len(ANSWER)) == ANSWER
        writer.close()
        await writer.wait_closed()
        await server.gone.wait()
    return bytes(server.heard), waits


@pytest.mark.parametrize("request_", [GET, SIZED, LARGE])
def test_a_call_reaches_the_server_as_it_was_made(request_: bytes) -> None:
    """Only time may lie between the scheduler and the API server."""
    heard, _ = asyncio.run(passed_on(request_))

    assert heard == request_


def test_each_call_of_a_connection_waits_by_itself() -> None:
    """A client keeps its connections; a call that comes in parts waits once."""
    heard, waits = asyncio.run(passed_on(GET, LARGE, SIZED, GET))

    assert waits == [1.5] * 4
    assert heard == GET + LARGE + SIZED + GET


def test_an_answer_that_never_ends_is_passed_on_as_it_comes() -> None:
    """A watch is one call, and its events must not wait for its end."""

    async def watch() -> bytes:
        gone = asyncio.Event()

        async def endless(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"first")
            await reader.read()
            writer.close()
            await writer.wait_closed()
            gone.set()

        behind = await asyncio.start_server(endless, HOST, 0)
        port = behind.sockets[0].getsockname()[1]
        proxy = Proxy(urlsplit(f"http://{HOST}:{port}"), None, lambda: 0.0)
        before = await proxy.serve(HOST, 0, None)
        async with behind, before:
            own = before.sockets[0].getsockname()[1]
            reader, writer = await asyncio.open_connection(HOST, own)
            writer.write(GET)
            first = await asyncio.wait_for(reader.readexactly(5), 5.0)
            writer.close()
            await writer.wait_closed()
            await gone.wait()
        return first

    assert asyncio.run(watch()) == b"first"
