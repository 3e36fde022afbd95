"""Asking by an HTTP or HTTPS request."""

from __future__ import annotations

import asyncio
import http.client
import ssl
from collections.abc import Mapping
from dataclasses import dataclass

from stowage_testbed.hostpods.probes.outcome import Outcome

BODY_BYTES = 512
OK_FROM, OK_BELOW = 200, 400


@dataclass(frozen=True, slots=True)
class HttpTarget:
    """What to ask for."""

    scheme: str
    host: str
    port: int
    path: str
    headers: Mapping[str, str]

    def connect(self, timeout_s: float) -> http.client.HTTPConnection:
        """Return a connection that is not open yet."""
        if self.scheme.upper() == "HTTPS":
            return http.client.HTTPSConnection(
                self.host, self.port, timeout=timeout_s, context=unverified_context()
            )
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout_s)

    def __str__(self) -> str:
        return f"{self.scheme.lower()}://{self.host}:{self.port}{self.path}"


async def probe_http(target: HttpTarget, timeout_s: float) -> Outcome:
    """Succeed on a status from 200 to 399 in time.

    As with a kubelet, a certificate is not verified: the probe asks whether the
    process answers, not who it is.
    """
    return await asyncio.to_thread(_ask, target, timeout_s)


def _ask(target: HttpTarget, timeout_s: float) -> Outcome:
    connection = target.connect(timeout_s)
    try:
        headers = {"Accept": "*/*", **target.headers}
        connection.request("GET", target.path, headers=headers)
        response = connection.getresponse()
        body = response.read(BODY_BYTES).decode(errors="replace").strip()
    except (OSError, http.client.HTTPException) as error:
        return Outcome(ok=False, message=f"{target}: {error}")
    finally:
        connection.close()
    ok = OK_FROM <= response.status < OK_BELOW
    return Outcome(ok, f"{target}: {response.status} {body}")


def unverified_context() -> ssl.SSLContext:
    """Return settings that accept any certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
