"""An API server that takes its time: a proxy in front of it that delays each call.

Only HTTP/1.1 is spoken, to which clients fall back: its connections have one call at a time. What a client says first,
or after an answer, is the next call, and waits; answers are passed on as they come, so that watches stay streams.

``slow_api.py --control FILE --pki FOLDER --port 1 --upstream X`` is how it is started.
"""

import argparse
import asyncio
import contextlib
import ssl
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from stowage_testbed.cluster.ports import LOOPBACK

CHUNK_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Proxy:
    """Passes calls on to one server, each after the seconds that a file asks for."""

    upstream: SplitResult
    trusted: ssl.SSLContext
    control: Path

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        with contextlib.suppress(OSError):
            await self._between(reader, writer)
        await _close(writer)

    async def _between(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass calls on until either side closes its connection."""
        server_reader, server_writer = await asyncio.open_connection(
            self.upstream.hostname, self.upstream.port, ssl=self.trusted
        )
        answered = asyncio.Event()
        answered.set()

        async def pass_calls() -> None:
            while data := await reader.read(CHUNK_BYTES):
                if answered.is_set():
                    answered.clear()
                    await asyncio.sleep(delay_s(self.control))
                server_writer.write(data)
                await server_writer.drain()

        async def pass_answers() -> None:
            while data := await server_reader.read(CHUNK_BYTES):
                answered.set()
                writer.write(data)
                await writer.drain()

        ways = [asyncio.ensure_future(way()) for way in (pass_calls, pass_answers)]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            await _close(server_writer)


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


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
    proxy = Proxy(upstream, trusted, control)
    server = await asyncio.start_server(proxy.connected, LOOPBACK, port, ssl=certified)
    await server.serve_forever()


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser()
    for name, form in (("control", Path), ("pki", Path), ("port", int), ("upstream", urlsplit)):
        parser.add_argument(f"--{name}", type=form, required=True)
    asked = parser.parse_args()
    asyncio.run(serve(asked.port, asked.upstream, asked.pki, asked.control))


if __name__ == "__main__":
    main()
