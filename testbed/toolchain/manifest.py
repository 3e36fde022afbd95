"""The manifest: which tools, which versions, and where each comes from."""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path

from testbed.toolchain.errors import UnknownToolError

MANIFEST_FILE = Path(__file__).with_name("manifest.toml")
CHECKOUT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Archive:
    """Where a tool's official release is published.

    ``member`` is the file inside a ``.tar.gz``; None says that the URL itself is the
    binary.
    """

    url: str
    member: str | None


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool of the manifest.

    ``own`` tools are written in this checkout: their key is a hash of their sources.
    """

    name: str
    version: str
    folder: Path
    package: str
    own: bool
    version_flags: bool
    archive: Archive | None

    @property
    def ldflags(self) -> str:
        """Return the linker flags: stripped, and told its version if it asks."""
        flags = ["-s", "-w"]
        if self.version_flags:
            major, minor, _ = self.version.removeprefix("v").split(".")
            base = "k8s.io/component-base/version"
            flags += [f"-X {base}.gitVersion={self.version}"]
            flags += [f"-X {base}.gitMajor={major}", f"-X {base}.gitMinor={minor}"]
        return " ".join(flags)


@dataclass(frozen=True, slots=True)
class Manifest:
    """All tools by name, the oldest Go that builds them, and the room they take."""

    go: str
    build_bytes: int
    install_bytes: int
    tools: dict[str, Tool]

    def tool(self, name: str) -> Tool:
        """Return the tool called ``name``.

        Raises
        ------
        UnknownToolError
            The manifest has no such tool.
        """
        if name not in self.tools:
            raise UnknownToolError(name, list(self.tools))
        return self.tools[name]


@functools.cache
def load_manifest(file: Path = MANIFEST_FILE) -> Manifest:
    """Read the manifest; it is part of the program, so its faults are bugs."""
    raw = tomllib.loads(file.read_text(encoding="utf-8"))
    archives = raw["archives"]
    tools: dict[str, Tool] = {}
    for name, entry in raw["tools"].items():
        own = "source" in entry
        archive = archives.get(name)
        tools[name] = Tool(
            name=name,
            version=entry["version"],
            folder=CHECKOUT / entry["source"] if own else file.parent / entry["folder"],
            package=entry["package"],
            own=own,
            version_flags=entry.get("version_flags", False),
            archive=Archive(archive["url"], archive.get("member")) if archive else None,
        )
    space = raw["space"]
    return Manifest(raw["go"], space["build_bytes"], space["install_bytes"], tools)
