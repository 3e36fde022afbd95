"""Fetching over HTTP: with patience that ends, and to TLS what came over TLS."""

from __future__ import annotations

import hashlib
import http.client
import socket
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from stowage_testbed.base.errors import StowageError

_CHUNK_BYTES = 1 << 16
_KIB = 1 << 10
_LARGEST_TEXT_BYTES = 1 << 20


class DownloadError(StowageError):
    """A release cannot be had from where it should be; it may be built instead."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a server may take before it is given up.

    Attributes
    ----------
    connect_s
        Until it accepts a connection, with looking up its name.
    silence_s
        Without a byte.
    grace_s, slowest_kib_s
        After so long an archive must have come at least so fast on average: what comes
        more slowly takes longer than a build.
    """

    connect_s: float = 3.0
    silence_s: float = 20.0
    grace_s: float = 15.0
    slowest_kib_s: float = 128.0


def can_be_reached(url: str, patience: Patience) -> bool:
    """Return whether the server of an address, or the proxy to it, accepts in time."""
    host, port = _endpoint(url)
    answers: list[bool] = []

    def connect() -> None:
        try:
            socket.create_connection((host, port), patience.connect_s).close()
        except OSError:
            return
        answers.append(True)

    # Looking a name up cannot be given a time limit, but can be left behind.
    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(patience.connect_s)
    return bool(answers)


def fetch_text(url: str, patience: Patience) -> str:
    """Return a small text.

    Raises
    ------
    DownloadError
        The server refused, broke off or took too long.
    """
    with _opened(url, patience) as response:
        content: bytes = response.read(_LARGEST_TEXT_BYTES)
    return content.decode("utf-8", errors="replace")


def fetch_file(
    url: str, target: Path, patience: Patience, watch: Callable[[int, int], None], ended: threading.Event
) -> str:
    """Fetch into a file, and return the content's SHA-256 digest.

    ``watch`` is called with the KiB that have come and those that will have come, 0 if
    the server does not say. Nobody waits for the file any more once ``ended`` is set.

    Raises
    ------
    DownloadError
        The server refused, broke off or took too long.
    """
    digest = hashlib.sha256()
    received = 0
    with _opened(url, patience) as response, target.open("wb") as file:
        began_s = time.monotonic()
        promised = int(response.headers.get("Content-Length") or 0)
        while chunk := response.read1(_CHUNK_BYTES):
            file.write(chunk)
            digest.update(chunk)
            received += len(chunk)
            watch(received // _KIB, promised // _KIB)
            elapsed_s = time.monotonic() - began_s
            if ended.is_set():
                raise _failed(url, "nobody waits for it any more")
            if elapsed_s > patience.grace_s and (received / _KIB < patience.slowest_kib_s * elapsed_s):
                rate = received / _KIB / elapsed_s
                raise _failed(url, f"it comes at {rate:.0f} KiB/s only")
    if received < promised:
        raise _failed(url, f"it ended after {received:,} of {promised:,} bytes")
    return digest.hexdigest()


@contextmanager
def _opened(url: str, patience: Patience) -> Iterator[Any]:
    opener = urllib.request.build_opener(_TlsStaysTls)
    try:
        with opener.open(url, timeout=patience.silence_s) as response:
            yield response
    except urllib.error.HTTPError as error:
        # The error holds the connection open until it is collected.
        error.close()
        raise _failed(url, f"HTTP {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        raise _failed(url, _in_words(error.reason, patience)) from error
    except (http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise _failed(url, _in_words(error, patience)) from error


class _TlsStaysTls(urllib.request.HTTPRedirectHandler):
    """Follows no redirection from TLS to none, where anybody could answer."""

    def redirect_request(  # noqa: PLR0917 - the library's own signature
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        if req.type == "https" and not newurl.startswith("https://"):
            raise urllib.error.HTTPError(req.full_url, code, f"redirected without TLS to {newurl}", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _endpoint(url: str) -> tuple[str, int]:
    """Return host and port that a connection to an address goes to."""
    parts = urllib.parse.urlsplit(url)
    proxy = urllib.request.getproxies().get(parts.scheme)
    if proxy and not urllib.request.proxy_bypass(parts.hostname or ""):
        parts = urllib.parse.urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def _in_words(cause: object, patience: Patience) -> str:
    if isinstance(cause, TimeoutError):
        return f"nothing came for {patience.silence_s:g} s"
    return str(cause)


def _failed(url: str, cause: str) -> DownloadError:
    return DownloadError(f"downloading {url} failed: {cause}")
