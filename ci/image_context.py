#!/usr/bin/env python3
"""Fills a folder with all that the build of an image copies, and prints its time.

``ci/image_context.py IMAGE FOLDER``; the time is what SOURCE_DATE_EPOCH should be.
"""

import sys
from pathlib import Path

from stowage_testbed.base.errors import StowageError
from stowage_testbed.images.recipe import prepare, recipe_of, source_epoch
from stowage_testbed.toolchain import install_tools


def main(name: str, folder: str) -> None:
    """Prepare the build of one image."""
    recipe = recipe_of(name)
    install_tools(recipe.tools)
    prepare(recipe, Path(folder))
    print(source_epoch(recipe))  # noqa: T201 - it is the output


if __name__ == "__main__":
    if len(sys.argv) != len(("program", "IMAGE", "FOLDER")):
        sys.exit("usage: ci/image_context.py IMAGE FOLDER")
    try:
        main(*sys.argv[1:])
    except StowageError as error:
        sys.exit(f"ci/image_context.py: {error}")
