"""The slow way to the API server as a command.

``python -m stowage_testbed.faults.slow_api --control FILE --pki FOLDER --port 1
--upstream X``
"""

from __future__ import annotations

import argparse
import asyncio
import ssl
from functools import partial
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from stowage_testbed.cluster.ports import LOOPBACK
from stowage_testbed.faults.slow_api.proxy import Proxy


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
