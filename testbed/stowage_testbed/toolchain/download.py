"""The second source: a tool's official archive, whole and with the right digest."""

from __future__ import annotations

import hashlib
import http.client
import shutil
import tarfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

from stowage_testbed.errors import StowageError
from stowage_testbed.toolchain.manifest import Tool
from stowage_testbed.toolchain.release import Release, archive_member, archive_url

if TYPE_CHECKING:
    from stowage_testbed.toolchain.progress import ToolWatcher

_CHUNK_BYTES = 1 << 18
_KIB = 1 << 10
_TIMEOUT_S = 30.0
"""Without a byte, not for the whole."""


def fetch_tool(
    tool: Tool, target: Path, release: Release, watcher: ToolWatcher
) -> None:
    """Fetch a tool that has an archive into the file ``target``.

    Raises
    ------
    StowageError
        The server refused or broke off, or the content is not what was pinned.
    """
    assert tool.archive is not None  # noqa: S101 - only such tools are fetched
    url = archive_url(tool, tool.archive)
    member = archive_member(tool, tool.archive)
    file = target if member is None else target.with_name("archive")
    _download(release.source(url), file, release.pins[url], watcher)
    if member is not None:
        _extract(url, file, member, target)
        file.unlink()


def _download(url: str, target: Path, sha256: str, watcher: ToolWatcher) -> None:
    try:
        found = _stream(url, target, watcher)
    except urllib.error.HTTPError as error:
        # The error holds the connection open until it is collected.
        error.close()
        raise _failed(url, f"HTTP {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        raise _failed(url, str(error.reason)) from error
    except (http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise _failed(url, str(error)) from error
    if found != sha256:
        raise StowageError(
            f"{url} has SHA-256 {found}, but {sha256} is pinned; it was not installed. "
            "Either the pin is wrong or the archive was tampered with: compare with "
            "the project's own release page"
        )


def _failed(url: str, cause: str) -> StowageError:
    return StowageError(
        f"downloading {url} failed: {cause}; check the network, name a server "
        "that has it with --mirror, or build with --source go"
    )


def _stream(url: str, target: Path, watcher: ToolWatcher) -> str:
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
        raise StowageError(
            f"downloading {url} ended after {received:,} of {promised:,} bytes; "
            "run the same command again"
        )
    return digest.hexdigest()


def _extract(url: str, file: Path, member: str, target: Path) -> None:
    """Take one file out of an archive, whatever else it holds and wherever to."""
    try:
        with tarfile.open(file) as archive:
            content = archive.extractfile(member)
            if content is None:
                raise KeyError(member)
            with target.open("wb") as binary:
                shutil.copyfileobj(content, binary)
    except (tarfile.TarError, KeyError, EOFError) as error:
        raise StowageError(
            f"{url} holds no readable {member}; the digest is the pinned one, so the "
            "address or the manifest's member is wrong for this platform: "
            "build with --source go"
        ) from error
