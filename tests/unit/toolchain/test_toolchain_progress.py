"""What is said while tools are installed, and that they are built side by side."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest
from small_tools import a_manifest, a_tool

from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.toolchain import progress as progress_module
from stowage_testbed.toolchain.build import Builder
from stowage_testbed.toolchain.golang import Go
from stowage_testbed.toolchain.install import install_missing
from stowage_testbed.toolchain.progress import (
    LINE_EVERY_S,
    ToolWatcher,
    saying_for_how_long,
    show_progress,
)
from stowage_testbed.toolchain.source import SourceKind, ToolSource


def a_watcher(doing: str, done: int = 0, total: int = 0) -> ToolWatcher:
    watcher = ToolWatcher("etcd")
    watcher.starts(doing, total)
    watcher.reach(done)
    return watcher


@pytest.mark.parametrize(
    ("watcher", "said"),
    [
        (ToolWatcher("etcd"), "etcd waiting"),
        (a_watcher("fetching", 12), "etcd 12 modules fetched"),
        (a_watcher("compiling", 812, 2079), "etcd 812 of 2,079 packages"),
        (a_watcher("linking"), "etcd linking"),
        (a_watcher("downloading", 5 << 10, 20 << 10), "etcd 5 of 20 MiB"),
        (a_watcher("downloading", 5 << 10), "etcd 5 MiB"),
    ],
)
def test_a_line_says_what_a_tool_is_at(watcher: ToolWatcher, said: str) -> None:
    """With what is done, and of how much where that is known."""
    assert watcher.in_words() == said


def test_a_log_gets_a_line_at_least_every_five_seconds(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A CI log that stands still for nine minutes looks like a program that hangs."""
    assert LINE_EVERY_S < 5
    monkeypatch.setattr(progress_module, "LINE_EVERY_S", 0.01)
    lines: list[str] = []

    def seen() -> int:
        lines.extend(capfd.readouterr().err.splitlines())
        return len(lines)

    with show_progress(["etcd", "helm"]) as progress:
        progress.watchers["etcd"].starts("compiling", 565)
        progress.watchers["helm"].is_installed()
        wait_until("two lines", seen, lambda count: count > 1, timeout_s=HANG_S)
    with saying_for_how_long("compiling"):
        before = seen()
        wait_until("two more", seen, lambda count: count > before + 1, timeout_s=HANG_S)

    assert "tools: 0 s, 1 of 2 installed; etcd 0 of 565 packages" in lines
    assert lines[-1] == "compiling: 0 s"


GO = """#!/bin/sh
pipe={pipe}
case $1 in
  list) echo shared@m@v1.0.0; echo "$PWD@" ;;
  build)
    while [ "$1" != -o ]; do shift; done
    echo built >"$2"
    case $PWD in
      */first) echo shared; echo "$PWD"; cat "$pipe" >/dev/null ;;
      *) echo "$PWD"; echo >"$pipe" ;;
    esac ;;
esac
"""


def a_go(folder: Path) -> Go:
    """Return a Go that links the first tool until the second one is compiled."""
    pipe, file = folder / "pipe", folder / "go"
    os.mkfifo(pipe)
    file.write_text(GO.format(pipe=pipe))
    file.chmod(0o755)
    return Go(file, "1.26.4")


def test_a_tool_is_compiled_while_the_one_before_is_linked(tmp_path: Path) -> None:
    """Linking takes one core only; what both share counts for both."""
    tools = [a_tool(tmp_path / name, name=name) for name in ("first", "second")]
    go = a_go(tmp_path)
    builder = Builder(tools, lambda: go)
    watchers = [ToolWatcher(tool.name) for tool in tools]

    def build(number: int) -> None:
        target = tmp_path / f"built-{number}"
        builder.build(tools[number], target, watchers[number])

    threads = [Thread(target=build, args=(number,), daemon=True) for number in (1, 0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_S)

    assert [thread.is_alive() for thread in threads] == [False, False]
    assert [watcher.doing for watcher in watchers] == ["linking", "linking"]


@pytest.mark.usefixtures("cache")
def test_tools_of_kubernetes_do_not_hold_up_others(tmp_path: Path) -> None:
    """They have other packages: both cores have work."""
    go = a_go(tmp_path)
    first = replace(a_tool(tmp_path / "first", name="first"), version_flags=True)
    other = a_tool(tmp_path / "other", name="other")
    builder = Builder([first, other], lambda: go)

    # Compiled before the first one is, which never is here.
    reader = Thread(target=(tmp_path / "pipe").read_text, daemon=True)
    reader.start()
    builder.build(other, tmp_path / "built", ToolWatcher("other"))

    assert (tmp_path / "built").read_text() == "built\n"


@pytest.mark.usefixtures("cache")
def test_where_tools_come_from_is_said_in_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """And why."""
    tool = a_tool(tmp_path / "hello")

    install_missing([tool], a_manifest(tool), ToolSource(SourceKind.AUTO))

    first, second = capfd.readouterr().err.splitlines()[:2]
    assert first == "tools: hello will be installed"
    assert second == "tools: Go modules for hello (none is released)"
