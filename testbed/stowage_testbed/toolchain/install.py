"""Installing what is missing, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stowage_testbed.toolchain.location import binary_file
from stowage_testbed.toolchain.manifest import DEFAULT_GROUP, load_manifest
from stowage_testbed.toolchain.release import Release


def install_tools(
    names: Sequence[str] | None = None,
    *,
    group: str = DEFAULT_GROUP,
    release: Release | None = None,
    quiet: bool = False,
) -> dict[str, Path]:
    """Install tools that are not there yet, and return all their binaries by name.

    Parameters
    ----------
    names
        Which ones; those of the group without.
    group
        Which tools are meant where none is named.
    release
        Take official archives where there are any; without, all is built by Go. The
        tools of this checkout are always built.
    quiet
        Draw no progress bars.

    Raises
    ------
    stowage_testbed.toolchain.errors
        Each cause has its own class there.
    """
    manifest = load_manifest()
    named = [manifest.tool(name) for name in names or ()]
    tools = named or manifest.group(group)
    missing = [tool for tool in tools if not binary_file(tool).is_file()]
    # Imported only when something is to be installed: with everything in place the
    # command answers at once.
    if release is not None:
        from stowage_testbed.toolchain.release_source import (  # noqa: PLC0415
            install_from_release,
        )

        published = [tool for tool in missing if tool.archive]
        install_from_release(published, manifest, release, quiet=quiet)
        missing = [tool for tool in missing if not tool.archive]
    if missing:
        from stowage_testbed.toolchain.go_source import install_from_go  # noqa: PLC0415

        install_from_go(missing, manifest, quiet=quiet)
    return {tool.name: binary_file(tool) for tool in tools}
