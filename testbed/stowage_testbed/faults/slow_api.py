"""An API server that takes its time: a proxy in front of it that delays each call.

Requests are read one by one, since each is to wait; answers are passed on as they come,
so that watches stay streams. Only HTTP/1.1 is spoken, to which clients fall back: its
connections have one call at a time, and none has to wait for another's delay.

``python -m stowage_testbed.faults.slow_api --control FILE --pki FOLDER --port 1
--upstream X`` is how it is started.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from stowage_testbed.cluster.ports import LOOPBACK

HEAD_END = b"\r\n\r\n"
LINE_END = b"\r\n"
CHUNK_BYTES = 1 << 16
LARGEST_HEAD_BYTES = 1 << 20
"""As the API server has it."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """Passes calls on to one server, each after a delay.

    Parameters
    ----------
    upstream
        The API server's address.
    trusted
        How its certificate is checked; without, it is asked by plain HTTP.
    delay_s
        Asked at every call: how long this one waits, in seconds.
    pause
        Lets seconds pass.
    """

    upstream: SplitResult
    trusted: ssl.SSLContext | None
    delay_s: Callable[[], float]
    pause: Callable[[float], Awaitable[object]] = asyncio.sleep

    async def serve(
        self, host: str, port: int, certified: ssl.SSLContext | None
    ) -> asyncio.Server:
        """Return a server that listens; with a certificate it speaks TLS."""
        return await asyncio.start_server(
            self._connected, host, port, ssl=certified, limit=LARGEST_HEAD_BYTES
        )

    async def _connected(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await self._between(reader, writer)
        await _close(writer)

    async def _between(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Pass calls on until either side closes its connection."""
        server_reader, server_writer = await asyncio.open_connection(
            self.upstream.hostname, self.upstream.port, ssl=self.trusted
        )
        ways = {
            asyncio.ensure_future(self._requests(reader, server_writer)),
            asyncio.ensure_future(_copy(server_reader, writer)),
        }
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            await _close(server_writer)

    async def _requests(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while True:
            head = await reader.readuntil(HEAD_END)
            await self.pause(self.delay_s())
            writer.write(head)
            await _pass_body(fields(head), reader, writer)
            await writer.drain()


def fields(head: bytes) -> dict[str, str]:
    """Return the fields of a request's head, names in small letters."""
    lines = head.decode("latin-1").split("\r\n")[1:]
    pairs = (line.partition(":") for line in lines if line)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


async def _pass_body(
    head: dict[str, str], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    if head.get("transfer-encoding", "").lower() == "chunked":
        await _pass_chunks(reader, writer)
        return
    left = int(head.get("content-length", 0))
    while left:
        data = await reader.read(min(left, CHUNK_BYTES))
        if not data:
            raise asyncio.IncompleteReadError(data, left)
        left -= len(data)
        writer.write(data)
        await writer.drain()


async def _pass_chunks(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Pass on a body in chunks, to the empty line after the last of them."""
    while True:
        size = await reader.readuntil(LINE_END)
        writer.write(size)
        length = int(size.partition(b";")[0], base=16)
        if not length:
            break
        writer.write(await reader.readexactly(length + len(LINE_END)))
        await writer.drain()
    while (trailer := await reader.readuntil(LINE_END)) != LINE_END:
        writer.write(trailer)
    writer.write(LINE_END)


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(CHUNK_BYTES):
        writer.write(data)
        await writer.drain()


def delay_s(control: Path) -> float:
    """Return the seconds that the file asks for; without the file, none."""
    try:
        return float(control.read_text("utf-8") or 0)
    except FileNotFoundError:
        return 0.0


async def serve(port: int, upstream: SplitResult, pki: Path, control: Path) -> None:
    """Serve on the loopback, with the API server's own certificate, until killed."""
    trusted = ssl.create_default_context(cafile=str(pki / "ca.crt"))
    certified = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    certified.load_cert_chain(pki / "admin.crt", pki / "admin.key")
    proxy = Proxy(upstream, trusted, partial(delay_s, control))
    server = await proxy.serve(LOOPBACK, port, certified)
    await server.serve_forever()


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser(prog="python -m stowage_testbed.faults.slow_api")
    parser.add_argument("--control", type=Path, required=True)
    parser.add_argument("--pki", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--upstream", type=urlsplit, required=True)
    asked = parser.parse_args()
    asyncio.run(serve(asked.port, asked.upstream, asked.pki, asked.control))


if __name__ == "__main__":
    main()
