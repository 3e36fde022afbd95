"""A cache of its own for every test, with a Go build cache that is shared."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stowage_testbed.base import layout
from stowage_testbed.toolchain import location


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return an empty cache folder; keys are not remembered between tests."""
    folder = tmp_path / "cache"
    folder.mkdir()
    # Compiling Go's runtime for every test would take half a minute each.
    (folder / "go-build").symlink_to(_shared_go_build())
    monkeypatch.setenv("STOWAGE_CACHE", str(folder))
    location.tool_key.cache_clear()
    yield folder
    location.tool_key.cache_clear()


def _shared_go_build() -> Path:
    shared = layout.cache_folder() / "go-build"
    shared.mkdir(parents=True, exist_ok=True)
    return shared
