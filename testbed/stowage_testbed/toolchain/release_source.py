"""The second source: official release archives, for machines with internet."""

from __future__ import annotations

import errno
import tarfile
from collections.abc import Sequence
from pathlib import Path

from stowage_testbed import layout
from stowage_testbed.toolchain.download import download
from stowage_testbed.toolchain.errors import ArchiveContentError, NoSpaceError
from stowage_testbed.toolchain.manifest import Archive, Manifest, Tool
from stowage_testbed.toolchain.progress import show_progress
from stowage_testbed.toolchain.release import (
    Release,
    archive_member,
    archive_url,
    require_pins,
)
from stowage_testbed.toolchain.space import check_space, free_bytes, needed_to_install
from stowage_testbed.toolchain.staging import install_one
from stowage_testbed.toolchain.watcher import Watcher


def install_from_release(
    tools: Sequence[Tool],
    manifest: Manifest,
    release: Release,
    *,
    quiet: bool = False,
) -> None:
    """Download, check and install ``tools``.

    Raises
    ------
    stowage_testbed.toolchain.errors
        Each cause has its own class there.
    """
    require_pins(tools, release)
    needed_bytes = needed_to_install(tools, manifest)
    check_space(needed_bytes)
    with show_progress([tool.name for tool in tools], quiet=quiet) as progress:

        def fetch(tool: Tool, target: Path) -> None:
            if tool.archive is not None:
                watcher = progress.watcher(tool.name)
                _fetch(tool, tool.archive, release, target, watcher)

        for tool in tools:
            progress.begin(tool.name)
            try:
                install_one(tool, fetch)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                folder = layout.cache_folder()
                raise NoSpaceError(folder, needed_bytes, free_bytes(folder)) from error
            progress.finish(tool.name)


def _fetch(
    tool: Tool, archive: Archive, release: Release, target: Path, watcher: Watcher
) -> None:
    url = archive_url(tool, archive)
    member = archive_member(tool, archive)
    file = target if member is None else target.with_name("archive")
    download(release.source(url), file, release.pins[url], watcher)
    if member is not None:
        _extract(url, file, member, target)
        file.unlink()


def _extract(url: str, file: Path, member: str, target: Path) -> None:
    """Take one file out of an archive, whatever else it holds and wherever to."""
    try:
        with tarfile.open(file) as archive:
            content = archive.extractfile(member)
            if content is None:
                raise ArchiveContentError(url, member)
            with target.open("wb") as binary:
                while chunk := content.read(1 << 20):
                    binary.write(chunk)
    except (tarfile.TarError, KeyError, EOFError) as error:
        raise ArchiveContentError(url, member) from error
