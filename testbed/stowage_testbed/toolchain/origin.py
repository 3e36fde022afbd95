"""What an installed binary came from, written beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from stowage_testbed.toolchain.source import SourceKind

if TYPE_CHECKING:
    from stowage_testbed.toolchain.golang import Go
    from stowage_testbed.toolchain.release import Release

_NAME = "origin.json"
UNKNOWN = "unknown"
"""Of what was installed before it was written down."""


def note_release(binary: Path, release: Release) -> None:
    """Write that a binary was taken from a release."""
    facts = {"address": release.url, "sha256": release.sha256}
    _write(binary, {"source": SourceKind.RELEASE, **facts})


def note_build(binary: Path, go: Go) -> None:
    """Write that a binary was built, and by which Go."""
    _write(binary, {"source": SourceKind.GO, "go": go.version})


def source_of(binary: Path) -> str:
    """Return `release` or `go` of an installed binary."""
    try:
        text = binary.with_name(_NAME).read_text(encoding="utf-8")
    except FileNotFoundError:
        return UNKNOWN
    source: str = json.loads(text)["source"]
    return source


def _write(binary: Path, facts: dict[str, str]) -> None:
    text = json.dumps(facts, indent=2) + "\n"
    binary.with_name(_NAME).write_text(text, encoding="utf-8")
