"""The first source: Go modules, built on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stowage_testbed import layout
from stowage_testbed.toolchain.build import DiskFullError, build_tool
from stowage_testbed.toolchain.errors import NoSpaceError
from stowage_testbed.toolchain.golang import find_go
from stowage_testbed.toolchain.manifest import Manifest, Tool
from stowage_testbed.toolchain.progress import show_progress
from stowage_testbed.toolchain.space import check_space, free_bytes, needed_to_build
from stowage_testbed.toolchain.staging import install_one


def install_from_go(
    tools: Sequence[Tool], manifest: Manifest, *, quiet: bool = False
) -> None:
    """Build and install ``tools``, one after the other, as Go uses all cores itself.

    Raises
    ------
    stowage_testbed.toolchain.errors
        Each cause has its own class there.
    """
    go = find_go(manifest.go)
    needed_bytes = needed_to_build(tools, manifest)
    check_space(needed_bytes)
    with show_progress([tool.name for tool in tools], quiet=quiet) as progress:

        def build(tool: Tool, target: Path) -> None:
            build_tool(tool, go, target, progress.watcher(tool.name))

        for tool in tools:
            progress.begin(tool.name)
            try:
                install_one(tool, build)
            except DiskFullError as error:
                folder = layout.cache_folder()
                raise NoSpaceError(folder, needed_bytes, free_bytes(folder)) from error
            progress.finish(tool.name)
