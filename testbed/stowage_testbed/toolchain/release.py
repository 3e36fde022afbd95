"""Official release archives: their addresses, and the digests they must have."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stowage_testbed.errors import StowageError
from stowage_testbed.toolchain.manifest import Archive, Tool

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
    urls = [archive_url(tool, tool.archive) for tool in tools if tool.archive]
    missing = [url for url in urls if url not in release.pins]
    if missing:
        raise StowageError(
            "the pins file has no digest for these archives; take each from the "
            "project's own release page and add a line DIGEST ADDRESS:\n  "
            + "\n  ".join(missing)
        )


def archive_url(tool: Tool, archive: Archive) -> str:
    """Return the official address of a tool's archive for this machine."""
    return _filled(archive.url, tool)


def archive_member(tool: Tool, archive: Archive) -> str | None:
    """Return the file inside the archive, None if the archive is the binary."""
    return _filled(archive.member, tool) if archive.member else None


def _filled(template: str, tool: Tool) -> str:
    return template.format(
        version=tool.version, os=platform.system().lower(), arch=architecture()
    )


def architecture() -> str:
    """Return what Go and container images call this machine's processor."""
    machine = platform.machine()
    return _ARCHITECTURES.get(machine, machine)
