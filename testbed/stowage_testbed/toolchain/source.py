"""Where tools come from: official releases, Go modules, or whichever can be had."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from stowage_testbed.base.errors import InputError

SOURCE_VARIABLE = "STOWAGE_SOURCE"
MIRROR_VARIABLE = "STOWAGE_MIRROR"

_LINE = re.compile(r"(?P<digest>[0-9a-fA-F]{64})\s+\*?(?P<url>https?://\S+)")


class SourceKind(StrEnum):
    """What is asked for."""

    AUTO = "auto"
    """A release that can be reached and has a known digest, else the Go module."""

    GO = "go"
    RELEASE = "release"
    """A release of all that is released, or nothing; the rest from its Go module."""

    NONE = "none"
    """What is installed already: nothing is fetched and nothing built."""


@dataclass(frozen=True, slots=True)
class ToolSource:
    """What is asked for, and by which digests releases are known.

    Attributes
    ----------
    pins
        SHA-256 digest by official address; they win over what is published.
    mirror
        Address of a server that has archives and digests under ``/HOST/PATH`` of their
        official address. Whoever names one trusts the digests that it gives.
    """

    kind: SourceKind = SourceKind.AUTO
    pins: Mapping[str, str] = field(default_factory=dict)
    mirror: str | None = None

    def address(self, url: str) -> str:
        """Return where what has the official address ``url`` is fetched."""
        if self.mirror is None:
            return url
        return f"{self.mirror.rstrip('/')}/{url.split('://', 1)[1]}"


def choose_source(kind: str | None = None, pins: Path | None = None, mirror: str | None = None) -> ToolSource:
    """Return the source that is asked for, or else what the environment names.

    Raises
    ------
    InputError
        There is no such source, or the pins cannot be read.
    """
    word = kind or os.environ.get(SOURCE_VARIABLE) or SourceKind.AUTO
    if word not in set(SourceKind):
        raise InputError(
            f"there is no source {word!r} of tools ({SOURCE_VARIABLE} names it); name one of {', '.join(SourceKind)}"
        )
    if kind == SourceKind.GO and (pins or mirror):
        raise InputError("--pins and --mirror are for releases; leave out --source go, or both")
    mirror = mirror or os.environ.get(MIRROR_VARIABLE) or None
    return ToolSource(SourceKind(word), read_pins(pins) if pins else {}, mirror)


def read_pins(file: Path) -> Mapping[str, str]:
    """Read digests as `sha256sum` writes them, with the address as the file's name.

    Raises
    ------
    InputError
        The file cannot be read; names every line that is malformed.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise _unusable(file, [str(error.strerror)]) from error
    digests: dict[str, str] = {}
    issues = []
    for number, line in enumerate(lines, 1):
        match = _LINE.fullmatch(line.strip())
        if match:
            digests[match["url"]] = match["digest"].lower()
        elif line.strip() and not line.lstrip().startswith("#"):
            issues.append(f"line {number} is not DIGEST ADDRESS: {line.strip()!r}")
    if issues:
        raise _unusable(file, issues)
    return digests


def _unusable(file: Path, issues: Sequence[str]) -> InputError:
    return InputError(
        f"{file}: {'; '.join(issues)}; write one line an archive: its SHA-256 digest, a space, its address"
    )
