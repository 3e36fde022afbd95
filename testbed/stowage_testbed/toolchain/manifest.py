"""The manifest: which tools, which versions, and where each comes from."""

import functools
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from stowage_testbed.base import layout
from stowage_testbed.base.errors import InputError, StowageError

VARIABLE = "STOWAGE_KUBERNETES"
"""The environment variable that names another default minor of Kubernetes."""
MANIFEST_FILE = Path(__file__).with_name("manifest.toml")
DEFAULT_GROUP = "default"
"""What is installed by default: all that tests and scenarios need."""


@dataclass(frozen=True, slots=True)
class Archive:
    """A tool's official release.

    ``member`` is the file inside a ``.tar.gz``; without it the URL is the binary. ``digest`` is the address of the file
    with its SHA-256 digest; without it the project publishes none. ``sha256`` is that digest, once it is known.
    """

    url: str
    member: str | None = None
    digest: str | None = None
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class Space:
    """What a group of tools takes: room to build and to keep all of it, and minutes to build it on two cores."""

    build_bytes: int
    install_bytes: int
    build_minutes: int = 0


@dataclass(frozen=True, slots=True)
class Minor:
    """A minor of Kubernetes, such as 1.37, and what goes with it."""

    number: str
    kubernetes: str
    """The version of Kubernetes, as in ``v1.37.2``."""
    etcd: str
    ends: date
    """The last day of upstream's support."""
    only: Sequence[str] | None = None
    """The tools that there are of it; None for all."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool; of those that go with a minor of Kubernetes there is one for each."""

    name: str
    version: str
    folder: Path
    """The Go module that it is built in."""
    package: str
    own: bool = False
    """Whether it is Stowage's: its key is a hash of the sources that are shipped."""
    version_flags: bool = False
    archive: Archive | None = None
    group: str = DEFAULT_GROUP
    module: str = ""
    data: tuple[str, ...] = ()
    """Files and folders of the Go module ``module`` that are kept beside the binary."""
    minor: str = ""
    module_file: str = "go.mod"
    tags: str = ""

    @property
    def ldflags(self) -> str:
        """The linker's flags: stripped, and with the version if needed."""
        flags = "-s -w"
        if self.version_flags:
            major, minor, _ = self.version.removeprefix("v").split(".")
            base = "k8s.io/component-base/version"
            flags += f" -X {base}.gitVersion={self.version} -X {base}.gitMajor={major} -X {base}.gitMinor={minor}"
        return flags


@dataclass(frozen=True, slots=True)
class Manifest:
    """All tools in the order in which they are built, and the oldest Go that builds them."""

    go: str
    minors: Mapping[str, Minor]
    """By number; the first is the default."""
    space: Mapping[str, Space]
    all_tools: tuple[Tool, ...]
    pins: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 digests of archives that were checked, by official address."""

    def tools(self, minor: str) -> dict[str, Tool]:
        """Return the tools that go with a minor, by name."""
        return {tool.name: tool for tool in self.all_tools if tool.minor in {"", minor}}

    def tool(self, name: str, minor: str = "") -> Tool:
        """Return a tool by name, of a minor if it is one of Kubernetes; raises `StowageError` if there is none."""
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
                f"there is no {name} for Kubernetes {minor}, of which there are the control plane and the stock "
                f"scheduler only; {name} is built for {' and '.join(same)}"
            )
        return same[minor]

    def group(self, name: str, minor: str) -> list[Tool]:
        """Return the tools of a group that go with a minor."""
        if name not in self.space:
            raise StowageError(f"there is no group of tools {name!r}; the groups are {', '.join(self.space)}")
        return [tool for tool in self.tools(minor).values() if tool.group == name]


@functools.cache
def load_manifest(file: Path = MANIFEST_FILE) -> Manifest:
    """Read the manifest; it is part of the program, so an error in it is a bug."""
    raw = tomllib.loads(file.read_text(encoding="utf-8"))
    minors = {number: Minor(number, **entry) for number, entry in raw["kubernetes"].items()}
    tools = tuple(
        tool
        for name, entry in raw["tools"].items()
        for tool in _read_tools(name, entry, raw["archives"].get(name), list(minors.values()), file.parent)
    )
    space = {name: Space(**sizes) for name, sizes in raw["space"].items()}
    return Manifest(raw["go"], minors, space, tools, raw.get("pins", {}))


def _read_tools(
    name: str, entry: Mapping[str, Any], archive: Mapping[str, str] | None, minors: list[Minor], base: Path
) -> Iterator[Tool]:
    """Yield the tool of an entry, or, of one that goes with a minor of Kubernetes, the tool of each minor."""
    fields = {"version": "", **entry, "data": tuple(entry.get("data", ()))}
    of, source = fields.pop("of", ""), fields.pop("source", "")
    fields["folder"] = layout.shipped(source) if source else base / entry["folder"]
    fields["own"] = bool(source) or entry.get("own", False)
    tool = Tool(name, archive=Archive(**archive) if archive else None, **fields)
    if not of:
        yield tool
    for minor in minors if of else ():
        if minor.only is not None and name not in minor.only:
            continue
        tool = replace(tool, version=getattr(minor, of), minor=minor.number)
        if tool.version == getattr(minors[0], of):
            yield tool
            continue
        number = ".".join(tool.version.removeprefix("v").split(".")[:2])
        # Sources of our own choose by a tag what differs between minors.
        tags = f"k8s{number.replace('.', '')}" if source else ""
        yield replace(tool, module_file=f"go-{number}.mod", tags=tags)


def choose_minor(asked: str | None = None) -> str:
    """Return the minor that is asked for, as in ``1.37``, or else the default; raises `InputError` without one."""
    known = load_manifest().minors
    word = asked or os.environ.get(VARIABLE) or next(iter(known))
    if word not in known:
        source = "" if asked else f" ({VARIABLE} names it)"
        raise InputError(f"there is no Kubernetes {word!r} here{source}; name one of {', '.join(known)}")
    return word


def find_minor(number: str) -> Minor:
    """Return what goes with a minor that there is."""
    return load_manifest().minors[number]


def built_minors() -> list[str]:
    """Return the minors that Stowage's scheduler is built for, the default first."""
    return [one.number for one in load_manifest().minors.values() if one.only is None]


def nearest_minor(version: str) -> str:
    """Return the built minor that suits a cluster of a version, as in ``v1.36.3``.

    That is its own, or the newest before it, or else the oldest; of a version that says nothing, the default.
    """
    number = _number_of(version)
    if not number:
        return choose_minor()
    built = sorted(built_minors(), key=_number_of, reverse=True)
    return next((one for one in built if _number_of(one) <= number), built[-1])


def is_of_minor(version: str, minor: str) -> bool:
    """Return whether a version is one of a minor."""
    return _number_of(version) == _number_of(minor)


def _number_of(version: str) -> tuple[int, ...]:
    """Return v1.36.3-gke.1 as (1, 36); nothing of what is no version."""
    found = re.match(r"v?(\d+)\.(\d+)", version)
    return tuple(map(int, found.groups())) if found else ()
