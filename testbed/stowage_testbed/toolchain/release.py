"""The second source: official archives, whole and with the right digests."""

from __future__ import annotations

import hashlib
import http.client
import platform
import re
import shutil
import tarfile
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stowage_testbed.base.errors import StowageError
from stowage_testbed.toolchain.manifest import Tool

if TYPE_CHECKING:
    from stowage_testbed.toolchain.progress import ToolWatcher

_LINE = re.compile(r"(?P<digest>[0-9a-fA-F]{64})\s+\*?(?P<url>https?://\S+)")
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True)
class Release:
    """Where archives come from, and which digests are trusted.

    Attributes
    ----------
    pins
        SHA-256 digest by official address. The manifest carries none: a digest is worth
        something only to who has checked it against the project's signed release.
    mirror
        Address of a server that has the archives under ``/HOST/PATH`` of their official
        address.
    """

    pins: Mapping[str, str]
    mirror: str | None = None

    def source(self, url: str) -> str:
        """Return where the archive of official address ``url`` is fetched."""
        if self.mirror is None:
            return url
        return f"{self.mirror.rstrip('/')}/{url.split('://', 1)[1]}"


def read_release(pins: Path, mirror: str | None = None) -> Release:
    """Read digests as `sha256sum` writes them, with the address as the file's name.

    Raises
    ------
    StowageError
        The file cannot be read; names every line that is malformed.
    """
    try:
        lines = pins.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise _unusable(pins, [str(error.strerror)]) from error
    digests: dict[str, str] = {}
    issues = []
    for number, line in enumerate(lines, 1):
        match = _LINE.fullmatch(line.strip())
        if match:
            digests[match["url"]] = match["digest"].lower()
        elif line.strip() and not line.lstrip().startswith("#"):
            issues.append(f"line {number} is not DIGEST ADDRESS: {line.strip()!r}")
    if issues:
        raise _unusable(pins, issues)
    return Release(digests, mirror)


def _unusable(pins: Path, issues: Sequence[str]) -> StowageError:
    return StowageError(
        f"{pins}: {'; '.join(issues)}; "
        "write one line an archive: its SHA-256 digest, a space, its address"
    )


def require_pins(tools: Sequence[Tool], release: Release) -> None:
    """Check before the first download that every archive has a digest.

    Raises
    ------
    StowageError
        Names every address that has none.
    """
    urls = [_filled(one.archive.url, one) for one in tools if one.archive]
    missing = [url for url in urls if url not in release.pins]
    if missing:
        raise StowageError(
            "the pins file has no digest for these archives; take each from the "
            "project's own release page and add a line DIGEST ADDRESS:\n  "
            + "\n  ".join(missing)
        )


def _filled(template: str, tool: Tool) -> str:
    """Return an address or a file in an archive, for this machine."""
    return template.format(
        version=tool.version, os=platform.system().lower(), arch=architecture()
    )


def architecture() -> str:
    """Return what Go and container images call this machine's processor."""
    machine = platform.machine()
    return _ARCHITECTURES.get(machine, machine)


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
    url, member = _filled(tool.archive.url, tool), tool.archive.member
    file = target.with_name("archive") if member else target
    _download(release.source(url), file, release.pins[url], watcher)
    if member:
        _extract(url, file, _filled(member, tool), target)
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
