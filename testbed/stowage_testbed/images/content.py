"""What decides an image's content: its key and the time of its files."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from stowage_testbed.images.recipe import RECIPES, Recipe, recipe_of
from stowage_testbed.toolchain.location import tool_key
from stowage_testbed.toolchain.manifest import load_manifest

EPOCH = "SOURCE_DATE_EPOCH"
"""The agreed variable for the timestamp of the files of a reproducible build."""

_WITHOUT_GIT = 1_600_000_000


def content_key(recipe: Recipe, checkout: Path, base: str = "") -> str:
    """Return a short hash of all that goes into an image, also another ``base``."""
    said = f"{recipe.reference} {base} {source_epoch(recipe, checkout)}"
    digest = hashlib.sha256(said.encode())
    if recipe.base and not base:
        digest.update(content_key(recipe_of(recipe.base), checkout).encode())
    for tool in (*recipe.tools, *recipe.tools_as_images):
        digest.update(tool_key(load_manifest().tool(tool, recipe.minor)).encode())
    for file in _files(recipe, checkout):
        digest.update(str(file.relative_to(checkout)).encode() + b"\0")
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:12]


def source_epoch(recipe: Recipe, checkout: Path) -> int:
    """Return the timestamp of an image's files, in seconds.

    It is what the environment says, or that of the last commit that changed what the
    image is made of.
    """
    if said := os.environ.get(EPOCH):
        return int(said)
    said = _last_change(recipe, checkout, "%ct")
    return int(said) if said else _WITHOUT_GIT


def source_revision(recipe: Recipe, checkout: Path) -> str:
    """Return the last commit that changed what an image is made of."""
    return _last_change(recipe, checkout, "%H") or "unknown"


def _last_change(recipe: Recipe, checkout: Path, shown: str) -> str:
    log = ["log", "-1", f"--format={shown}", "--", *_inputs(recipe)]
    done = subprocess.run(
        [shutil.which("git") or "git", *log], cwd=checkout, capture_output=True, text=True, check=False
    )
    return "" if done.returncode else done.stdout.strip()


def _inputs(recipe: Recipe) -> tuple[str, ...]:
    own = load_manifest().tools(recipe.minor)
    sources = {"scheduler" for tool in recipe.tools if own[tool].own}
    return (str(RECIPES / recipe.name), *recipe.inputs, *sorted(sources))


def _files(recipe: Recipe, checkout: Path) -> Iterator[Path]:
    for name in (str(RECIPES / recipe.name), *recipe.inputs):
        for file in sorted((checkout / name).rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                yield file
