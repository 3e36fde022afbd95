"""Installing what is missing, and nothing else."""

from __future__ import annotations

import errno
import functools
import math
import shutil
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError
from stowage_testbed.toolchain.build import Builder
from stowage_testbed.toolchain.download import DownloadError, Patience
from stowage_testbed.toolchain.golang import find_go
from stowage_testbed.toolchain.location import ToolMissingError, binary_file, install_command, say_missing, tool_folder
from stowage_testbed.toolchain.manifest import DEFAULT_GROUP, Manifest, Tool, load_manifest
from stowage_testbed.toolchain.minors import choose_minor
from stowage_testbed.toolchain.origin import note_build, note_release
from stowage_testbed.toolchain.progress import InstallProgress, show_progress
from stowage_testbed.toolchain.release import Releases, find_releases, take_release
from stowage_testbed.toolchain.source import SourceKind, ToolSource, choose_source
from stowage_testbed.toolchain.staging import install_one

LINK_S = 40
"""What one more tool of Kubernetes takes, whose packages are compiled already."""


def install_tools(
    names: Sequence[str] | None = None,
    *,
    minor: str | None = None,
    group: str = DEFAULT_GROUP,
    source: ToolSource | None = None,
) -> dict[str, Path]:
    """Install tools that are not there yet, and return all their binaries by name.

    Those of Kubernetes are of a minor, the default one unless another is named. Where
    none is named, those of the group are meant. Without a source that of the
    environment is asked; our own tools are built unless a release has the very sources
    that are here. Stderr gets a line that says what is missing and how to install it
    beforehand, and then how far it is.

    Raises
    ------
    StowageError
        A name is unknown, a source does not give a tool, or the disk is full.
    ToolMissingError
        A tool is missing where the source is to install nothing.
    """
    manifest = load_manifest()
    minor = choose_minor(minor)
    tools = [manifest.tool(name, minor) for name in names] if names else manifest.group(group, minor)
    missing = [tool for tool in tools if not binary_file(tool).is_file()]
    if missing:
        source = source or choose_source()
        if source.kind is SourceKind.NONE:
            raise ToolMissingError(*missing)
        install_missing(missing, manifest, source)
    return {tool.name: binary_file(tool) for tool in tools}


def install_missing(
    tools: Sequence[Tool], manifest: Manifest, source: ToolSource, patience: Patience | None = None
) -> None:
    """Install tools side by side, those that the manifest names first before others."""
    order = {tool: number for number, tool in enumerate(manifest.all_tools)}
    tools = sorted(tools, key=order.__getitem__)
    names = [tool.name for tool in tools]
    with show_progress(names, _headline(tools, manifest)) as progress:
        releases = find_releases(tools, manifest, source, patience)
        progress.say(f"tools: {releases.in_words()}")
        built = [tool for tool in tools if tool.name not in releases.found]
        find = functools.cache(lambda: find_go(manifest.go))
        if built:
            find()  # before anything takes time
        needed_bytes = _needed_bytes(tools, releases, manifest)
        if _free_bytes() < needed_bytes:
            raise _no_space(needed_bytes)
        builder = Builder(built, find)
        installation = _Installation(tools, source.kind, releases, builder, progress, patience)
        try:
            installation.run()
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            raise _no_space(needed_bytes) from error


@dataclass(frozen=True, slots=True)
class _Installation:
    tools: Sequence[Tool]
    kind: SourceKind
    releases: Releases
    builder: Builder
    progress: InstallProgress
    patience: Patience | None
    ended: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Install all, each in a thread of its own; the first that fails ends it."""
        with ThreadPoolExecutor(len(self.tools)) as pool:
            running = [pool.submit(self._install, tool) for tool in self.tools]
            try:
                for one in as_completed(running):
                    one.result()
            except BaseException:
                self.ended.set()
                self.builder.end()
                raise

    def _install(self, tool: Tool) -> None:
        try:
            install_one(tool, self._put, ended=self.ended)
        finally:
            self.builder.leave_out(tool)
        watcher = self.progress.watchers[tool.name]
        watcher.is_installed()

    def _put(self, tool: Tool, target: Path) -> None:
        watcher = self.progress.watchers[tool.name]
        release = self.releases.found.get(tool.name)
        if release is not None:
            try:
                take_release(release, target, watcher, self.ended, self.patience)
            except DownloadError as error:
                if self.kind is SourceKind.RELEASE or self.ended.is_set():
                    raise
                self.progress.say(f"{tool.name}: {error}; its Go module is built")
                self.builder.take_in(tool)
            else:
                note_release(target, release)
                return
        note_build(target, self.builder.build(tool, target, watcher))


def _headline(tools: Sequence[Tool], manifest: Manifest) -> str:
    """Return what is missing, how long it takes, and what does it beforehand."""
    minutes = math.ceil(_build_s(tools, manifest) / 60)
    time = f" (up to {minutes} min on two cores)" if minutes else ""
    return f"stowage: {say_missing(tools)}; installing now, once{time}; the same beforehand: {install_command(tools)}"


def _build_s(tools: Sequence[Tool], manifest: Manifest) -> int:
    """Return about how long it takes to build tools with empty caches, 0 if unknown.

    Those of Kubernetes have nearly everything in common, and each is linked alone.
    """
    asked = {(tool.group, tool.minor) for tool in tools}
    known = all(tool.build_s for tool in tools)
    if not known or any(_was_installed(*one, manifest) for one in asked):
        return 0
    of_kubernetes = [tool.build_s for tool in tools if tool.version_flags]
    others = sum(tool.build_s for tool in tools if not tool.version_flags)
    return max(of_kubernetes, default=0) + LINK_S * len(of_kubernetes[1:]) + others


def _needed_bytes(tools: Sequence[Tool], releases: Releases, manifest: Manifest) -> int:
    built = [tool for tool in tools if tool.name not in releases.found]
    return max(needed_to_build(built, manifest), needed_to_install(tools, manifest))


def needed_to_build(tools: Sequence[Tool], manifest: Manifest) -> int:
    """Return the bytes that building ``tools`` may take.

    Less once a group has been built before: Go's caches are filled then.
    """
    asked = {(tool.group, tool.minor) for tool in tools}
    # Where there are tools of Kubernetes, their room is that of the whole group.
    asked -= {(group, "") for group, minor in asked if minor}
    building = sum(
        manifest.space[group].build_bytes for group, minor in asked if not _was_installed(group, minor, manifest)
    )
    return building + needed_to_install(tools, manifest)


def needed_to_install(tools: Sequence[Tool], manifest: Manifest) -> int:
    """Return the bytes that the finished binaries of ``tools`` may take."""
    groups = {tool.group for tool in tools}
    return sum(manifest.space[group].install_bytes for group in groups)


def _was_installed(group: str, minor: str, manifest: Manifest) -> bool:
    tools = (tool for tool in manifest.all_tools if tool.group == group)
    return any(any(tool_folder(tool).glob(f"{tool.version}-*/*")) for tool in tools if tool.minor == minor)


def _free_bytes() -> int:
    """Return the bytes free for this user on the cache's disk."""
    folder = layout.cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    return shutil.disk_usage(folder).free


def _no_space(needed_bytes: int) -> StowageError:
    return StowageError(
        f"no disk space in the cache {layout.cache_folder()}: {needed_bytes:,} bytes "
        f"are needed and {_free_bytes():,} are free; free some, or name a folder on "
        "another disk with STOWAGE_CACHE"
    )
