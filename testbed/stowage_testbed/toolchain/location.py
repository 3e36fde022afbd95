"""Where a tool lies in the cache: one folder for each version and content key."""

import fcntl
import functools
import hashlib
import json
import os
import platform
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError
from stowage_testbed.toolchain.manifest import Tool, load_manifest

_FOR_TESTS = frozenset({"testdata", "testobjects"})
"""Folders of what only tests are built of; no wheel has them."""
_ORIGIN = "origin.json"
RELEASE = "release"


class ToolMissingError(StowageError):
    """Tools are not installed in the version that this Stowage wants."""

    def __init__(self, *tools: Tool) -> None:
        super().__init__(f"{say_missing(tools)}; run: {install_command(tools)}")
        self.tools = tools


def say_missing(tools: Sequence[Tool]) -> str:
    """Return that tools are not installed, as in `etcd and helm are not installed`."""
    *names, last = (tool.name for tool in tools)
    return f"{', '.join(names)} and {last} are not installed" if names else f"{last} is not installed"


def install_command(tools: Sequence[Tool]) -> str:
    """Return the command that installs tools."""
    minors = [tool.minor for tool in tools if tool.minor]
    of = f" --kubernetes {minors[0]}" if minors else ""
    return f"stowage tools install {' '.join(tool.name for tool in tools)}{of}"


def tool_path(name: str, minor: str = "") -> Path:
    """Return the installed binary of a tool, where it is one of Kubernetes of a minor.

    A build of this checkout is held for as long as this process lives: hours of runs must not lose it to builds of
    other checkouts. Raises a ToolMissingError if it is not installed in the version that this Stowage wants, and a
    StowageError if the manifest has no such tool, or not of this minor.
    """
    tool = load_manifest().tool(name, minor)
    file = binary_file(tool)
    if tool.own:
        with suppress(FileNotFoundError):
            _hold(file)
    if not file.is_file():
        raise ToolMissingError(tool)
    return file


def tool_build(name: str, minor: str = "") -> str:
    """Return a tool's version and the hash of what it is made of, by which measurements are told apart."""
    file = tool_path(name, minor)
    return file.parent.name + ("+release" if source_of(file) == RELEASE else "")


def tool_data(name: str) -> Path:
    """Return the folder with the files of an installed tool's Go module; raises as `tool_path`."""
    return data_folder(tool_path(name))


def data_folder(binary: Path) -> Path:
    """Return where a binary's data lie: beside it."""
    return binary.with_name("data")


def write_origin(binary: Path, **facts: str) -> None:
    """Write beside a binary what it came from."""
    binary.with_name(_ORIGIN).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def source_of(binary: Path) -> str:
    """Return `release` or `go` of an installed binary; `unknown` of one from before that was written."""
    try:
        return str(json.loads(binary.with_name(_ORIGIN).read_text(encoding="utf-8"))["source"])
    except FileNotFoundError:
        return "unknown"


@functools.cache
def _hold(file: Path) -> int:
    """Lock a binary for this process and others; return the open file's descriptor."""
    descriptor = os.open(file, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def is_held(file: Path) -> bool:
    """Return whether a process that lives was given this binary by `tool_path`."""
    with file.open("rb") as binary:
        try:
            fcntl.flock(binary, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def binary_file(tool: Tool) -> Path:
    """Return where the tool's binary lies once it is installed."""
    return tool_folder(tool) / f"{tool.version}-{tool_key(tool)}" / tool.name


def tool_folder(tool: Tool) -> Path:
    """Return the folder of all the tool's installed versions."""
    return layout.tools_folder() / tool.name


@functools.cache
def tool_key(tool: Tool) -> str:
    """Return a short hash of everything that decides the binary's content.

    That is the pinned dependencies and the flags, the platform, and for a tool of ours its sources, wherever they lie:
    a checkout and a wheel share one cache.
    """
    digest = hashlib.sha256()
    parts = [tool.package, tool.ldflags, platform.system(), platform.machine()]
    parts += [tool.tags] if tool.tags else []
    parts += [tool.module, *tool.data] if tool.data else []
    for part in parts:
        digest.update(part.encode() + b"\0")
    for file in tool_inputs(tool):
        digest.update(str(file.relative_to(tool.folder)).encode() + b"\0")
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:12]


def tool_inputs(tool: Tool) -> Iterator[Path]:
    """Yield the files that decide a tool's content: first its module's two."""
    module = tool.folder / tool.module_file
    if not module.is_file():
        raise StowageError(
            f"{tool.name} is built from the Go module {module}, which is not there; "
            "reinstall Stowage: pip install --force-reinstall stowage"
        )
    yield module
    yield module.with_suffix(".sum")
    if tool.own:
        for file in sorted(tool.folder.rglob("*")):
            # Anything but tests may be compiled in, by name or by a go:embed directive.
            for_tests = file.name.endswith("_test.go") or not _FOR_TESTS.isdisjoint(file.relative_to(tool.folder).parts)
            if not for_tests and file.is_file() and file.suffix not in {".mod", ".sum"}:
                yield file
