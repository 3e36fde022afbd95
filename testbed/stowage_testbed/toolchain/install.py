"""Installing what is missing, and nothing else."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError
from stowage_testbed.toolchain.build import build_tool
from stowage_testbed.toolchain.golang import find_go
from stowage_testbed.toolchain.location import binary_file, tool_folder
from stowage_testbed.toolchain.manifest import (
    DEFAULT_GROUP,
    Manifest,
    Tool,
    load_manifest,
)
from stowage_testbed.toolchain.minors import choose_minor
from stowage_testbed.toolchain.release import Release, fetch_tool, require_pins
from stowage_testbed.toolchain.staging import install_one


def install_tools(
    names: Sequence[str] | None = None,
    *,
    minor: str | None = None,
    group: str = DEFAULT_GROUP,
    release: Release | None = None,
    quiet: bool = False,
) -> dict[str, Path]:
    """Install tools that are not there yet, and return all their binaries by name.

    Those of Kubernetes are of a minor, the default one unless another is named. Where
    none is named, those of the group are meant. From a release official archives
    are taken where there are any; without, all is built by Go. The tools of this
    checkout are always built. If ``quiet``, no progress bars are drawn.

    Raises
    ------
    StowageError
        A name is unknown, a source does not give a tool, or the disk is full.
    """
    manifest = load_manifest()
    minor = choose_minor(minor)
    named = [manifest.tool(name, minor) for name in names or ()]
    tools = named or manifest.group(group, minor)
    missing = [tool for tool in tools if not binary_file(tool).is_file()]
    if release is not None:
        published = [tool for tool in missing if tool.archive]
        install_from_release(published, manifest, release, quiet=quiet)
        missing = [tool for tool in missing if not tool.archive]
    if missing:
        install_from_go(missing, manifest, quiet=quiet)
    return {tool.name: binary_file(tool) for tool in tools}


def install_from_go(
    tools: Sequence[Tool], manifest: Manifest, *, quiet: bool = False
) -> None:
    """Build and install ``tools``, one after the other, as Go uses all cores itself."""
    build = partial(build_tool, go=find_go(manifest.go))
    _install(tools, build, needed_to_build(tools, manifest), quiet=quiet)


def install_from_release(
    tools: Sequence[Tool], manifest: Manifest, release: Release, *, quiet: bool = False
) -> None:
    """Download, check and install ``tools``, which have official archives."""
    require_pins(tools, release)
    fetch = partial(fetch_tool, release=release)
    _install(tools, fetch, needed_to_install(tools, manifest), quiet=quiet)


def _install(
    tools: Sequence[Tool],
    source: Callable[..., None],
    needed_bytes: int,
    *,
    quiet: bool,
) -> None:
    from stowage_testbed.toolchain.progress import (  # noqa: PLC0415 - slow to import
        show_progress,
    )

    if _free_bytes() < needed_bytes:
        raise _no_space(needed_bytes)
    with show_progress([tool.name for tool in tools], quiet=quiet) as progress:
        for tool in tools:
            try:
                with progress.tool(tool.name) as watcher:
                    install_one(tool, partial(source, watcher=watcher))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                raise _no_space(needed_bytes) from error


def needed_to_build(tools: Sequence[Tool], manifest: Manifest) -> int:
    """Return the bytes that building ``tools`` may take.

    Less once a group has been built before: Go's caches are filled then.
    """
    asked = {(tool.group, tool.minor) for tool in tools}
    # Where there are tools of Kubernetes, their room is that of the whole group.
    asked -= {(group, "") for group, minor in asked if minor}
    building = sum(
        manifest.space[group].build_bytes
        for group, minor in asked
        if not _was_installed(group, minor, manifest)
    )
    return building + needed_to_install(tools, manifest)


def needed_to_install(tools: Sequence[Tool], manifest: Manifest) -> int:
    """Return the bytes that the finished binaries of ``tools`` may take."""
    groups = {tool.group for tool in tools}
    return sum(manifest.space[group].install_bytes for group in groups)


def _was_installed(group: str, minor: str, manifest: Manifest) -> bool:
    tools = (tool for tool in manifest.all_tools if tool.group == group)
    return any(
        any(tool_folder(tool).glob(f"{tool.version}-*/*"))
        for tool in tools
        if tool.minor == minor
    )


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
