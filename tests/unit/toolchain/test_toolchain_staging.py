"""Installing is atomic, and safe when two processes do it at once."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import threading
from pathlib import Path

import pytest
from small_tools import a_tool

from stowage_testbed.base.errors import StowageError
from stowage_testbed.toolchain.location import binary_file, tool_folder, tool_key
from stowage_testbed.toolchain.manifest import Tool
from stowage_testbed.toolchain.staging import KEPT_OWN_BUILDS, install_one


def write_binary(tool: Tool, target: Path) -> None:
    target.write_text(f"{tool.name}\n")


def test_an_installed_tool_is_executable(cache: Path, tmp_path: Path) -> None:
    """A download comes without the permission."""
    file = install_one(a_tool(tmp_path / "hello"), write_binary)

    assert os.access(file, os.X_OK)
    assert file.is_relative_to(cache)


@pytest.mark.usefixtures("cache")
def test_a_failed_fetch_leaves_nothing_that_looks_installed(tmp_path: Path) -> None:
    """Half a binary would be started by the next run."""
    tool = a_tool(tmp_path / "hello")

    def break_off(_: Tool, target: Path) -> None:
        target.write_text("half")
        raise InterruptedError

    with pytest.raises(InterruptedError):
        install_one(tool, break_off)

    assert not binary_file(tool).exists()
    assert [p.name for p in tool_folder(tool).iterdir()] == [".lock"]


@pytest.mark.usefixtures("cache")
def test_what_a_killed_installation_left_is_cleared_away(tmp_path: Path) -> None:
    """A killed process cannot clean up after itself; binaries are 100 MB each."""
    tool = a_tool(tmp_path / "hello")
    leftover = tool_folder(tool) / ".staging-of-a-killed-process"
    leftover.mkdir(parents=True)

    install_one(tool, write_binary)

    assert not leftover.exists()


def install_and_note(tool: Tool, journal: Path, gate: Path) -> None:
    """Run in a process of its own: install, and note who really fetched."""

    def fetch(tool: Tool, target: Path) -> None:
        with journal.open("a") as file:
            file.write(f"{os.getpid()}\n")
        gate.open().close()  # a pipe: waits for the test to look
        write_binary(tool, target)

    install_one(tool, fetch)


@pytest.mark.usefixtures("cache")
def test_of_two_processes_one_installs_and_the_other_finds_it_done(
    tmp_path: Path,
) -> None:
    """CI runs jobs side by side on one cache."""
    journal, gate = tmp_path / "journal", tmp_path / "gate"
    os.mkfifo(gate)
    fork = multiprocessing.get_context("fork")
    # Written once: a source that one of them writes again would be another key to both.
    arguments = (a_tool(tmp_path / "hello"), journal, gate)
    processes = [fork.Process(target=install_and_note, args=arguments) for _ in "ab"]

    for process in processes:
        process.start()
    gate.open("w").close()  # lets the one go on that is fetching
    for process in processes:
        process.join(60)

    assert [process.exitcode for process in processes] == [0, 0]
    assert len(journal.read_text().splitlines()) == 1


@pytest.mark.usefixtures("cache")
def test_a_lock_held_for_too_long_names_the_lock(tmp_path: Path) -> None:
    """Waiting without end looks like hanging."""
    tool = a_tool(tmp_path / "hello")

    def install_again(same: Tool, target: Path) -> None:
        write_binary(same, target)
        with pytest.raises(StowageError, match=r"holds .*\.lock"):
            install_one(tool, write_binary, timeout_s=0.01)

    install_one(tool, install_again)


@pytest.mark.usefixtures("cache")
def test_nobody_waits_for_a_lock_once_all_has_ended(tmp_path: Path) -> None:
    """Ctrl-C would have to wait for the build of another process."""
    tool = a_tool(tmp_path / "hello")
    ended = threading.Event()
    ended.set()

    def install_again(same: Tool, target: Path) -> None:
        write_binary(same, target)
        with pytest.raises(StowageError, match=r"holds .*\.lock"):
            install_one(tool, write_binary, ended=ended)

    install_one(tool, install_again)


@pytest.mark.usefixtures("cache")
def test_old_builds_of_own_tools_are_pruned(tmp_path: Path) -> None:
    """Every edit is a new key; a hundred edits would fill the disk."""
    tool = a_tool(tmp_path / "hello")
    for edit in range(KEPT_OWN_BUILDS + 2):
        (tool.folder / "main.go").write_text(f"package main\n// {edit}\n")
        tool_key.cache_clear()
        newest = install_one(tool, write_binary)
        os.utime(newest.parent, (edit, edit))

    builds = [path for path in tool_folder(tool).iterdir() if path.is_dir()]

    assert len(builds) == KEPT_OWN_BUILDS
    assert newest.parent in builds


@pytest.mark.usefixtures("cache")
def test_a_build_that_somebody_works_with_is_not_pruned(tmp_path: Path) -> None:
    """A campaign of hours lost its scheduler to builds in three other checkouts."""
    tool = a_tool(tmp_path / "hello")
    held = install_one(tool, write_binary)
    os.utime(held.parent, (0, 0))
    with held.open("rb") as binary:
        fcntl.flock(binary, fcntl.LOCK_SH)
        for edit in range(KEPT_OWN_BUILDS + 1):
            (tool.folder / "main.go").write_text(f"package main\n// {edit}\n")
            tool_key.cache_clear()
            install_one(tool, write_binary)
            assert held.is_file()

    (tool.folder / "main.go").write_text("package main\n// the last one\n")
    tool_key.cache_clear()
    install_one(tool, write_binary)

    assert not held.exists()
