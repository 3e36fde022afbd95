"""The cache is keyed by what decides a binary's content, and by nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_tools import a_tool

from stowage_testbed.base.errors import StowageError
from stowage_testbed.toolchain import ToolMissingError, choose_minor, tool_path
from stowage_testbed.toolchain.location import binary_file, tool_key


@pytest.mark.usefixtures("cache")
def test_a_changed_source_is_another_binary(tmp_path: Path) -> None:
    """A scheduler built before the last edit would be tested in its place."""
    before = tool_key(a_tool(tmp_path))
    tool_key.cache_clear()

    after = tool_key(a_tool(tmp_path, source="package main\n\nfunc main() {}\n"))

    assert before != after


@pytest.mark.usefixtures("cache")
def test_a_changed_test_is_the_same_binary(tmp_path: Path) -> None:
    """Tests are not compiled in; a rebuild would be wasted time."""
    tool = a_tool(tmp_path)
    before = tool_key(tool)
    tool_key.cache_clear()

    (tmp_path / "main_test.go").write_text("package main\n")

    assert tool_key(tool) == before


def test_a_binary_lies_below_its_name_and_version(cache: Path, tmp_path: Path) -> None:
    """People look into the cache too."""
    file = binary_file(a_tool(tmp_path / "hello"))

    assert file.is_relative_to(cache / "tools" / "hello")
    assert file.parent.name.startswith("v1.2.3-")


@pytest.mark.usefixtures("cache")
def test_a_missing_tool_is_answered_with_the_command_that_installs_it() -> None:
    """The way out belongs into the message."""
    with pytest.raises(ToolMissingError, match="stowage tools install etcd"):
        tool_path("etcd", choose_minor())


def test_missing_sources_are_named(tmp_path: Path) -> None:
    """Somebody may have tidied the package's data away."""
    tool = a_tool(tmp_path / "module")
    (tmp_path / "module" / "go.mod").unlink()

    with pytest.raises(StowageError, match="reinstall Stowage"):
        tool_key(tool)
