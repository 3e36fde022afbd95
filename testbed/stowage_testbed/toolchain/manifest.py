"""The manifest: which tools, which versions, and where each comes from."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stowage_testbed import layout
from stowage_testbed.errors import StowageError

MANIFEST_FILE = Path(__file__).with_name("manifest.toml")
DEFAULT_GROUP = "default"
"""What is installed by default: all that tests and scenarios need."""


@dataclass(frozen=True, slots=True)
class Archive:
    """Where a tool's official release is published.

    ``member`` is the file inside a ``.tar.gz``; None says that the URL itself is the
    binary.
    """

    url: str
    member: str | None


@dataclass(frozen=True, slots=True)
class ModuleData:
    """Files and folders of a Go module that are kept beside a tool's binary."""

    module: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Space:
    """The room that a group of tools takes: to build all of it, and to keep it."""

    build_bytes: int
    install_bytes: int


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool of the manifest.

    ``own`` tools are Stowage's: their key is a hash of the sources that it ships.
    """

    name: str
    version: str
    folder: Path
    package: str
    own: bool
    version_flags: bool
    archive: Archive | None
    group: str = DEFAULT_GROUP
    data: ModuleData | None = None

    @property
    def ldflags(self) -> str:
        """Return the linker flags: stripped, and with the version if needed."""
        flags = ["-s", "-w"]
        if self.version_flags:
            major, minor, _ = self.version.removeprefix("v").split(".")
            base = "k8s.io/component-base/version"
            flags += [f"-X {base}.gitVersion={self.version}"]
            flags += [f"-X {base}.gitMajor={major}", f"-X {base}.gitMinor={minor}"]
        return " ".join(flags)


@dataclass(frozen=True, slots=True)
class Manifest:
    """All tools by name, the oldest Go that builds them, and their groups' room."""

    go: str
    space: Mapping[str, Space]
    tools: dict[str, Tool]

    def tool(self, name: str) -> Tool:
        """Return the tool called ``name``.

        Raises
        ------
        StowageError
            The manifest has no such tool.
        """
        if name not in self.tools:
            raise StowageError(
                f"there is no tool {name!r}; the tools are {', '.join(self.tools)}"
            )
        return self.tools[name]

    def group(self, name: str) -> list[Tool]:
        """Return the tools of a group.

        Raises
        ------
        StowageError
            The manifest has no such group.
        """
        if name not in self.space:
            raise StowageError(
                f"there is no group of tools {name!r}; the groups are "
                f"{', '.join(self.space)}"
            )
        return [tool for tool in self.tools.values() if tool.group == name]


@functools.cache
def load_manifest(file: Path = MANIFEST_FILE) -> Manifest:
    """Read the manifest; it is part of the program, so its issues are bugs."""
    raw = tomllib.loads(file.read_text(encoding="utf-8"))
    archives = raw["archives"]
    space = {name: Space(**sizes) for name, sizes in raw["space"].items()}
    tools = {
        name: _tool(name, entry, archives.get(name), file.parent)
        for name, entry in raw["tools"].items()
    }
    return Manifest(raw["go"], space, tools)


def _tool(
    name: str, entry: Mapping[str, Any], archive: Mapping[str, str] | None, base: Path
) -> Tool:
    source = entry.get("source")
    data = (
        ModuleData(entry["module"], tuple(entry["data"])) if "data" in entry else None
    )
    return Tool(
        name=name,
        version=entry["version"],
        folder=layout.shipped(source) if source else base / entry["folder"],
        package=entry["package"],
        own=source is not None or entry.get("own", False),
        version_flags=entry.get("version_flags", False),
        archive=Archive(archive["url"], archive.get("member")) if archive else None,
        group=entry.get("group", DEFAULT_GROUP),
        data=data,
    )
