"""Asking by opening a connection."""

from __future__ import annotations

import asyncio

from stowage_testbed.hostpods.probes.outcome import Outcome


async def probe_tcp(host: str, port: int, timeout_s: float) -> Outcome:
    """Succeed if the port accepts a connection in time."""
    try:
        _, writer = await asyncio.wait_for(
            asyncio.open_connection(host, port), timeout_s
        )
    except TimeoutError:
        return Outcome(ok=False, message=f"{host}:{port}: no answer in time")
    except OSError as error:
        return Outcome(ok=False, message=f"{host}:{port}: {error}")
    writer.close()
    return Outcome(ok=True)
