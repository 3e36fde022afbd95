"""Building with the real Go, on a module of one file."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from small_tools import a_manifest, a_tool

from stowage_testbed.base.errors import StowageError
from stowage_testbed.toolchain.install import install_missing, needed_to_build
from stowage_testbed.toolchain.location import binary_file, data_folder
from stowage_testbed.toolchain.manifest import ModuleData, Tool
from stowage_testbed.toolchain.source import SourceKind, ToolSource

BUILT = ToolSource(SourceKind.GO)

pytestmark = pytest.mark.skipif(shutil.which("go") is None, reason="needs Go")


def build(tool: Tool, needed_bytes: int = 0) -> Path:
    manifest = a_manifest(tool, needed_bytes=needed_bytes)
    install_missing([tool], manifest, BUILT)
    return binary_file(tool)


@pytest.mark.usefixtures("cache")
def test_a_built_tool_runs(tmp_path: Path) -> None:
    """The whole way: find Go, build, install."""
    file = build(a_tool(tmp_path / "hello"))

    run = subprocess.run([file], check=True, capture_output=True)
    assert run.stderr == b"hello\n"


@pytest.mark.usefixtures("cache")
def test_what_a_tool_needs_of_its_module_lies_beside_it(tmp_path: Path) -> None:
    """Whole folders too, and writable: the folder must be removable again."""
    tool = a_tool(tmp_path / "hello")
    (tool.folder / "config" / "crds").mkdir(parents=True)
    for name in ("config/crds/a.yaml", "config/crds/b.yaml", "role.yaml"):
        (tool.folder / name).write_text(name)
        (tool.folder / name).chmod(0o444)
    data = ModuleData("hello", ("config/crds", "role.yaml"))

    folder = data_folder(build(replace(tool, data=data)))

    found = {str(file.relative_to(folder)) for file in folder.rglob("*.yaml")}
    assert found == {"config/crds/a.yaml", "config/crds/b.yaml", "role.yaml"}
    assert (folder / "role.yaml").read_text() == "role.yaml"
    assert os.stat(folder / "role.yaml").st_mode & 0o200


@pytest.mark.usefixtures("cache")
def test_data_that_its_module_does_not_have_are_named(tmp_path: Path) -> None:
    """A new version may have moved them."""
    data = ModuleData("hello", ("config/crds",))
    tool = replace(a_tool(tmp_path / "hello"), data=data)

    with pytest.raises(StowageError, match="hello holds no config/crds"):
        build(tool)

    assert not binary_file(tool).exists()


@pytest.mark.usefixtures("cache")
def test_a_group_that_was_never_built_needs_room_of_its_own(tmp_path: Path) -> None:
    """The caches that the first group has filled are of no use to the second."""
    first = a_tool(tmp_path / "hello")
    second = replace(a_tool(tmp_path / "other", name="other"), group="second")
    manifest = a_manifest(first, second, needed_bytes=1000)
    before = needed_to_build([first], manifest)
    install_missing([first], manifest, BUILT)

    assert before == 2000
    assert needed_to_build([first], manifest) == 1000
    assert needed_to_build([first, second], manifest) == 3000


@pytest.mark.usefixtures("cache")
def test_a_failed_build_shows_the_compilers_words(tmp_path: Path) -> None:
    """An exit code would send the reader looking for a log."""
    tool = a_tool(tmp_path / "broken", source="package main\n\nfunc main() { nope }\n")

    with pytest.raises(StowageError, match="undefined: nope"):
        build(tool)


@pytest.mark.usefixtures("cache")
def test_too_little_room_is_refused_before_the_build(tmp_path: Path) -> None:
    """Ten minutes of compiling would be lost."""
    needed = f"{2 << 60:,} bytes are needed and .* are free"
    with pytest.raises(StowageError, match=f"no disk space in the cache .*: {needed}"):
        build(a_tool(tmp_path / "hello"), needed_bytes=1 << 60)


ON_A_FULL_DISK = """
import sys
from dataclasses import replace
from pathlib import Path
from small_tools import a_manifest, a_tool
from stowage_testbed.base.errors import StowageError
from stowage_testbed.toolchain.install import install_missing
from stowage_testbed.toolchain.source import SourceKind, ToolSource

tool = a_tool(Path(sys.argv[1]))
try:
    install_missing([tool], a_manifest(tool), ToolSource(SourceKind.GO))
except StowageError as error:
    print(error)
"""


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
def test_a_disk_that_fills_up_during_the_build_is_named(tmp_path: Path) -> None:
    """A real disk of one megabyte, mounted where only the child process sees it."""
    cache = tmp_path / "cache"
    cache.mkdir()
    mount = f"mount -t tmpfs -o size=1m tmpfs {cache}"
    sandbox = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    if subprocess.run([*sandbox, mount], capture_output=True, check=False).returncode:
        pytest.skip("mounting is not permitted here")

    run = subprocess.run(
        [
            *sandbox,
            f'{mount} && STOWAGE_CACHE={cache} exec "$0" -c "$1" "$2"',
            sys.executable,
            ON_A_FULL_DISK,
            str(tmp_path / "hello"),
        ],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )

    assert f"no disk space in the cache {cache}" in run.stdout
    assert "are free" in run.stdout
