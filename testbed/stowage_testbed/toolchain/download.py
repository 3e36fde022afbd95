"""One file over HTTP, whole and with the right digest, or an error that says why."""

from __future__ import annotations

import hashlib
import http.client
import urllib.error
import urllib.request
from pathlib import Path

from stowage_testbed.toolchain.errors import (
    DigestMismatchError,
    DownloadError,
    TruncatedDownloadError,
)
from stowage_testbed.toolchain.watcher import Watcher

_CHUNK_BYTES = 1 << 18
_KIB = 1 << 10
_TIMEOUT_S = 30.0
"""Without a byte, not for the whole."""


def download(url: str, target: Path, sha256: str, watcher: Watcher) -> None:
    """Fetch ``url`` into ``target``, which must have the digest ``sha256``.

    Raises
    ------
    DownloadError
        The server refused or did not answer.
    TruncatedDownloadError
        The connection ended early.
    DigestMismatchError
        The content is not what was pinned.
    """
    try:
        found = _stream(url, target, watcher)
    except urllib.error.HTTPError as error:
        # The error holds the connection open until it is collected.
        error.close()
        raise DownloadError(url, f"HTTP {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        raise DownloadError(url, str(error.reason)) from error
    except (http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise DownloadError(url, str(error)) from error
    if found != sha256:
        raise DigestMismatchError(url, sha256, found)


def _stream(url: str, target: Path, watcher: Watcher) -> str:
    digest = hashlib.sha256()
    received = 0
    # The address comes from the manifest or the user's own --mirror.
    with (
        urllib.request.urlopen(url, timeout=_TIMEOUT_S) as response,  # noqa: S310
        target.open("wb") as file,
    ):
        promised = int(response.headers.get("Content-Length", 0))
        watcher.total(promised // _KIB)
        while chunk := response.read(_CHUNK_BYTES):
            file.write(chunk)
            digest.update(chunk)
            received += len(chunk)
            watcher.advance(len(chunk) // _KIB, "KiB")
    if received < promised:
        raise TruncatedDownloadError(url, promised, received)
    return digest.hexdigest()
