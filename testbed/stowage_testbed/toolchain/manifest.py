"""The manifest: which tools, which versions, and where each comes from."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError

MANIFEST_FILE = Path(__file__).with_name("manifest.toml")
DEFAULT_GROUP = "default"
"""What is installed by default: all that tests and scenarios need."""


@dataclass(frozen=True, slots=True)
class Archive:
    """Where a tool's official release is published.

    ``member`` is the file inside a ``.tar.gz``; None says that the URL itself is the
    binary. ``digest`` is the address of the file with its SHA-256 digest; None says
    that the project publishes none.
    """

    url: str
    member: str | None = None
    digest: str | None = None


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
class Minor:
    """A minor of Kubernetes, such as 1.37, and what goes with it.

    Attributes
    ----------
    versions
        Of Kubernetes and of etcd, by name.
    ends
        The last day of upstream's support.
    only
        The tools that there are of it; None for all.
    """

    number: str
    versions: Mapping[str, str]
    ends: date
    only: frozenset[str] | None = None

    @property
    def kubernetes(self) -> str:
        """The version of Kubernetes, as in ``v1.37.2``."""
        return self.versions["kubernetes"]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool of the manifest, where it is one of Kubernetes that of one minor.

    ``own`` tools are Stowage's: their key is a hash of the sources that it ships.
    ``minor`` is empty for tools that go with every minor; ``tags`` are Go's build tags.
    ``build_s`` is what its first build takes alone, 0 where nobody has measured it.
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
    minor: str = ""
    module_file: str = "go.mod"
    tags: str = ""
    build_s: int = 0

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
    """All tools, the minors of Kubernetes, the oldest Go that builds all of it.

    Attributes
    ----------
    minors
        By number; the first is the default.
    space
        The room that a group takes.
    all_tools
        In the order in which they are built; those of Kubernetes once for each minor.
    pins
        SHA-256 digests of archives that were checked, by official address.
    """

    go: str
    minors: Mapping[str, Minor]
    space: Mapping[str, Space]
    all_tools: tuple[Tool, ...]
    pins: Mapping[str, str] = field(default_factory=dict)

    def tools(self, minor: str) -> dict[str, Tool]:
        """Return the tools that go with a minor, by name."""
        return {tool.name: tool for tool in self.all_tools if tool.minor in {"", minor}}

    def tool(self, name: str, minor: str = "") -> Tool:
        """Return the tool called ``name``, where it is one of Kubernetes of a minor.

        Raises
        ------
        StowageError
            The manifest has no such tool, or not of this minor.
        ValueError
            A tool of Kubernetes was asked for without a minor.
        """
        same = {tool.minor: tool for tool in self.all_tools if tool.name == name}
        if not same:
            names = dict.fromkeys(tool.name for tool in self.all_tools)
            raise StowageError(f"there is no tool {name!r}; the tools are {', '.join(names)}")
        if "" in same:
            return same[""]
        if not minor:
            raise ValueError(f"{name} of which minor of Kubernetes?")
        if minor not in same:
            raise StowageError(
                f"there is no {name} for Kubernetes {minor}, of which there are the "
                f"control plane and the stock scheduler only; {name} is built for "
                f"{' and '.join(same)}"
            )
        return same[minor]

    def group(self, name: str, minor: str) -> list[Tool]:
        """Return the tools of a group that go with a minor.

        Raises
        ------
        StowageError
            The manifest has no such group.
        """
        if name not in self.space:
            raise StowageError(f"there is no group of tools {name!r}; the groups are {', '.join(self.space)}")
        return [tool for tool in self.tools(minor).values() if tool.group == name]


@functools.cache
def load_manifest(file: Path = MANIFEST_FILE) -> Manifest:
    """Read the manifest; it is part of the program, so its issues are bugs."""
    raw = tomllib.loads(file.read_text(encoding="utf-8"))
    space = {name: Space(**sizes) for name, sizes in raw["space"].items()}
    minors = [_minor(number, entry) for number, entry in raw["kubernetes"].items()]
    tools = [
        _tool(name, {**entry, **versioned}, raw["archives"].get(name), file.parent)
        for name, entry in raw["tools"].items()
        for versioned in _versions(name, entry, minors)
    ]
    by_number = {minor.number: minor for minor in minors}
    return Manifest(raw["go"], by_number, space, tuple(tools), raw.get("pins", {}))


def _minor(number: str, entry: Mapping[str, Any]) -> Minor:
    only = frozenset(entry["only"]) if "only" in entry else None
    versions = {name: entry[name] for name in ("kubernetes", "etcd")}
    return Minor(number, versions, entry["ends"], only)


def _versions(name: str, entry: Mapping[str, Any], minors: list[Minor]) -> Iterator[Mapping[str, str]]:
    """Yield what differs between the tools of one name: one, or one for each minor."""
    of = entry.get("of")
    if of is None:
        yield {}
        return
    default = minors[0].versions[of]
    for minor in minors:
        if minor.only is not None and name not in minor.only:
            continue
        version = minor.versions[of]
        its_own = {} if version == default else _module_of(version, entry)
        yield {"version": version, "minor": minor.number, **its_own}


def _module_of(version: str, entry: Mapping[str, Any]) -> Mapping[str, str]:
    """Return what a version that is not the default is built with."""
    number = ".".join(version.removeprefix("v").split(".")[:2])
    # Sources of our own choose by a tag what differs between minors.
    tags = {"tags": f"k8s{number.replace('.', '')}"} if "source" in entry else {}
    return {"module_file": f"go-{number}.mod", **tags}


def _tool(name: str, entry: Mapping[str, Any], archive: Mapping[str, str] | None, base: Path) -> Tool:
    source = entry.get("source")
    data = ModuleData(entry["module"], tuple(entry["data"])) if "data" in entry else None
    return Tool(
        name=name,
        version=entry["version"],
        folder=layout.shipped(source) if source else base / entry["folder"],
        package=entry["package"],
        own=source is not None or entry.get("own", False),
        version_flags=entry.get("version_flags", False),
        archive=Archive(**archive) if archive else None,
        group=entry.get("group", DEFAULT_GROUP),
        data=data,
        minor=entry.get("minor", ""),
        module_file=entry.get("module_file", "go.mod"),
        tags=entry.get("tags", ""),
        build_s=entry.get("build_s", 0),
    )
