#!/usr/bin/env python3
"""Builds Stowage's own programs for a release, each with its digest beside it.

``ci/release_programs.py FOLDER``; they are named as the archives in the manifest.
"""

import shutil
import sys
from hashlib import sha256
from pathlib import Path

from stowage_testbed.base.errors import StowageError
from stowage_testbed.toolchain import install_tools
from stowage_testbed.toolchain.manifest import load_manifest
from stowage_testbed.toolchain.release import archive_of


def main(folder: Path) -> None:
    """Write all of them, of every minor."""
    folder.mkdir(parents=True, exist_ok=True)
    for tool in load_manifest().all_tools:
        if tool.own and tool.archive:
            built = install_tools([tool.name], minor=tool.minor)[tool.name]
            file = folder / archive_of(tool).url.rsplit("/", 1)[1]
            shutil.copyfile(built, file)
            digest = f"{sha256(file.read_bytes()).hexdigest()}  {file.name}\n"
            file.with_name(f"{file.name}.sha256").write_text(digest, "utf-8")


if __name__ == "__main__":
    if len(sys.argv) != len(("program", "FOLDER")):
        sys.exit("usage: ci/release_programs.py FOLDER")
    try:
        main(Path(sys.argv[1]))
    except StowageError as error:
        sys.exit(f"ci/release_programs.py: {error}")
