"""Whether a program serves: its own endpoint says so, not its log."""

from __future__ import annotations

import functools
import http.client
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import psutil

READY = "ready"
_TIMEOUT_S = 5.0
_SHOWN = 300


def http_readiness(url: str, process: psutil.Process) -> str:
    """Return `READY`, or why ``process`` does not serve yet.

    Its port must be its own: whatever else listens there would answer in its place, and
    the program could not.

    Parameters
    ----------
    url
        On the loopback interface, HTTP or HTTPS. The certificate is not verified: it
        is one that the program made for itself a moment ago.
    process
        The program; what it has started counts as itself.
    """
    beyond = listens_beyond(process)
    if beyond:
        return f"it listens on {beyond}, which others can reach; bind it to 127.0.0.1"
    port = urlsplit(url).port
    if not listens(process, port):
        return f"nothing of its own listens on port {port}"
    try:
        with _opener().open(url, timeout=_TIMEOUT_S):
            return READY
    except urllib.error.HTTPError as error:
        with error:
            body = error.read(_SHOWN).decode(errors="replace").strip()
        return f"{url} answers {error.code} {error.reason}: {body}"
    except (OSError, http.client.HTTPException) as error:
        return f"{url} does not answer: {error}"


def listens(process: psutil.Process, port: int | None) -> bool:
    """Return whether a process, or one that it has started, listens on a port."""
    return any(address.port == port for address in _listening(process))


def listens_beyond(process: psutil.Process) -> str:
    """Return an address beyond the loopback on which a process listens; or nothing."""
    for address in _listening(process):
        if not ip_address(address.ip).is_loopback:
            return f"{address.ip}:{address.port}"
    return ""


def _listening(process: psutil.Process) -> Iterator[Any]:
    for one in (process, *process.children(recursive=True)):
        for connection in one.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN:
                yield connection.laddr


@functools.cache
def _opener() -> urllib.request.OpenerDirector:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    # A proxy of the user's has no business on the loopback interface.
    return urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
    )
